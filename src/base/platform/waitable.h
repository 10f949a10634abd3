/* SPDX-License-Identifier: MIT */
/*
 * Descriptors that are there to be waited for, by poll() or the loop: each is readable (POLLIN,
 * LOOP_IN) while what it stands for is so. They are O_CLOEXEC, never block, are ended by close(),
 * and are of this process alone: a child that is forked must not use them. -1 and errno on failure.
 */
#ifndef BASE_PLATFORM_WAITABLE_H
#define BASE_PLATFORM_WAITABLE_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* Readable from the first wake_raise() to wake_clear(). wake_raise() is for any thread and for
 * signal handlers; it leaves errno alone. */
int wake_open(void);
void wake_raise(int wake);
void wake_clear(int wake);

/* Readable while a signal of the set is pending, all of which the caller has blocked. Of two that
 * have the same signal either gets it. */
int signal_fd_open(const sigset_t *set);
/* The signal, which is pending no more; 0: there is none. */
int signal_fd_take(int fd);

/* Readable once the time has passed, and until it has been asked for. */
int timer_fd_open(uint64_t ms);
bool timer_fd_is_due(int timer);

/* Readable while one of those that were added is. An fd that is in it already is success. */
int any_fd_open(void);
int any_fd_add(int any, int fd);

/* Readable when the wall clock was set, which also waking up does. */
int clock_set_fd_open(void);
/* Whether it was since it was last asked; -1 and errno: it will tell no more. */
int clock_set_fd_take(int fd);

#endif
