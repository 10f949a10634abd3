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

/* Opens a descriptor that is readable while a signal of the set is pending. The caller has blocked
 * all of these signals. If two descriptors have the same signal, only one of the two gets it. */
int signal_fd_open(const sigset_t *set);
/* Takes a pending signal from the descriptor and returns it; 0 if no signal is pending. */
int signal_fd_take(int fd);

/* Opens a timer, which is readable from when ms milliseconds have passed until timer_fd_is_due() is
 * called. That function returns whether they have passed. */
int timer_fd_open(uint64_t ms);
bool timer_fd_is_due(int timer);

/* Open a descriptor that is readable while one of the descriptors is that were added to it, and add
 * a descriptor. It is no error to add a descriptor again. */
int any_fd_open(void);
int any_fd_add(int any, int fd);

/* Opens a descriptor that is readable when the wall clock was set. When the host wakes up from
 * sleep, the clock is set too. */
int clock_set_fd_open(void);
/* Returns 1 if the clock was set since the last call, 0 if not, -1 with errno if the descriptor
 * will not report this any more. */
int clock_set_fd_take(int fd);

#endif
