/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that exist to be waited for, by poll() or the loop: each is readable (POLLIN,
 * LOOP_IN) while its condition holds. They are O_CLOEXEC, never block, and are closed by close().
 * They belong only to this process: a forked child must not use them. -1 with errno on failure.
 */
#ifndef BASE_PLATFORM_WAITABLE_H
#define BASE_PLATFORM_WAITABLE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* A wake is readable from the first wake_raise() to wake_clear(). Any thread and signal handlers
 * may call wake_raise(); it does not change errno. */
int wake_open(void);
void wake_raise(int wake);
void wake_clear(int wake);

/* Opens a descriptor that is readable while a signal of the set is pending. The caller has blocked
 * all of these signals. If two descriptors have the same signal, either gets it. */
int signal_fd_open(const sigset_t *set);
/* Returns the signal, which is pending no more; 0 if there is none. */
int signal_fd_take(int fd);

/* Opens a timer that is readable once the time has passed, until timer_fd_is_due() was called. */
int timer_fd_open(uint64_t ms);
bool timer_fd_is_due(int timer);

/* Opens a descriptor that is readable while one of the added descriptors is. Adding an fd again
 * succeeds. */
int any_fd_open(void);
int any_fd_add(int any, int fd);

/* Opens a descriptor that is readable when the wall clock was set; waking up from sleep sets it
 * too. */
int clock_set_fd_open(void);
/* Returns whether the clock was set since the last call; -1 with errno if it will report no
 * more. */
int clock_set_fd_take(int fd);

#endif
