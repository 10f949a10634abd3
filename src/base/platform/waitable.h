/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that exist only to be waited for, by poll() or the loop: each is readable (POLLIN,
 * LOOP_IN) while its condition holds. They are O_CLOEXEC, never block, and are closed by close(). A
 * forked child must not use them. The functions return -1 with errno on failure.
 */
#ifndef BASE_PLATFORM_WAITABLE_H
#define BASE_PLATFORM_WAITABLE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Functions for a wake: a descriptor that is readable from the first wake_raise() on until
 * wake_clear(). Any thread and any signal handler may call wake_raise(), which does not change
 * errno. */
int wake_open(void);
void wake_raise(int wake);
void wake_clear(int wake);

/* Opens a descriptor that is readable while a signal of the set is pending. The caller must have
 * blocked all of these signals. If two descriptors wait for the same signal, only one of the two
 * gets it. */
int signal_fd_open(const sigset_t *set);
/* Takes a pending signal from the descriptor and returns it; 0 if no signal is pending. */
int signal_fd_take(int fd);

/* Opens a timer. Its descriptor becomes readable after `ms` milliseconds, and stays readable until
 * timer_fd_is_due() is called. timer_fd_is_due() returns whether the time has passed. */
int timer_fd_open(uint64_t ms);
bool timer_fd_is_due(int timer);

/* The first function opens a descriptor that is readable while one of its members is readable. The
 * second function adds a member, and succeeds if the member was added before. */
int any_fd_open(void);
int any_fd_add(int any, int fd);

/* Opens a descriptor that is readable when the wall clock was set. (The wall clock is also set when
 * the host wakes up from sleep.) */
int clock_set_fd_open(void);
/* Returns 1 if the clock was set since the last call, 0 if not, -1 with errno if the descriptor can
 * no longer report such changes. */
int clock_set_fd_take(int fd);

#endif
