/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that exist only to be waited for, by poll() or the loop. Each is readable (POLLIN,
 * LOOP_IN) while its condition holds. All of them are O_CLOEXEC, never block, and are closed by
 * close(). A forked child must not use them. The functions return -1 with errno on failure.
 */
#ifndef BASE_PLATFORM_WAITABLE_H
#define BASE_PLATFORM_WAITABLE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Functions for a wake descriptor, which is readable after wake_raise() was called until
 * wake_clear() is called. Any thread and any signal handler may call wake_raise(), which does not
 * change errno. */
int wake_open(void);
void wake_raise(int wake);
void wake_clear(int wake);

/* Opens a descriptor that is readable while a signal of the set is pending. The caller must have
 * blocked all of these signals. If two descriptors wait for the same signal, only one of them gets
 * each signal. */
int signal_fd_open(const sigset_t *set);
/* Reads a pending signal from the descriptor and returns its number; 0 if no signal is pending. */
int signal_fd_take(int fd);

/* Opens a timer. The timer's descriptor becomes readable after `ms` milliseconds, and stays
 * readable until timer_fd_is_due() is called. timer_fd_is_due() returns true if the time has
 * passed. */
int timer_fd_open(uint64_t ms);
bool timer_fd_is_due(int timer);

/* any_fd_open() opens a descriptor that is readable while one of its members is readable.
 * any_fd_add() adds a member, and also succeeds if the member was added before. */
int any_fd_open(void);
int any_fd_add(int any, int fd);

/* Opens a descriptor that becomes readable when the wall clock was set. (The wall clock is also set
 * when the host wakes up from sleep.) */
int clock_set_fd_open(void);
/* Returns 1 if the wall clock was set since the last call, 0 if it was not, -1 with errno if the
 * descriptor can no longer report this. */
int clock_set_fd_take(int fd);

#endif
