/* SPDX-License-Identifier: MIT */
/*
 * Each descriptor of waitable.h is a kqueue, for which a program can wait as for any descriptor.
 * The exception is the descriptor for the wall clock, to which notifyd writes. A child of fork()
 * does not inherit the kqueues. The facts are from kqueue(2). This file was compiled and linked for
 * macOS, but never run there.
 */
#include "base/platform/waitable.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/event.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* The ident of a filter for which the ident is no descriptor, signal or process. */
#define OWN_IDENT 0

static int change_kqueue(int queue, uintptr_t ident, int16_t filter, uint16_t flags,
			 uint32_t fflags, int64_t data)
{
	struct kevent change;

	EV_SET(&change, ident, filter, flags, fflags, (intptr_t)data, NULL);
	return kevent(queue, &change, 1, NULL, 0, NULL);
}

static int open_kqueue(uintptr_t ident, int16_t filter, uint16_t flags, uint32_t fflags,
		       int64_t data)
{
	autoclose int queue = kqueue();

	if (queue < 0 || fcntl(queue, F_SETFD, FD_CLOEXEC) < 0 ||
	    change_kqueue(queue, ident, filter, flags | EV_ADD, fflags, data) < 0)
		return -1;
	return steal_fd(&queue);
}

/* Reads an event without waiting. Returns 1 if there was an event, 0 if there was none, -1 on
 * failure. */
static int take_event(int queue, struct kevent *out)
{
	const struct timespec now = {0};

	return kevent(queue, NULL, 0, out, 1, &now);
}

int wake_open(void)
{
	return open_kqueue(OWN_IDENT, EVFILT_USER, EV_CLEAR, 0, 0);
}

void wake_raise(int wake)
{
	int saved = errno;

	(void)change_kqueue(wake, OWN_IDENT, EVFILT_USER, 0, NOTE_TRIGGER, 0);
	errno = saved;
}

void wake_clear(int wake)
{
	struct kevent event;

	(void)take_event(wake, &event);
}

int timer_fd_open(uint64_t ms)
{
	return open_kqueue(OWN_IDENT, EVFILT_TIMER, EV_ONESHOT, NOTE_USECONDS,
			   ms ? (int64_t)(ms * 1000) : 1);
}

bool timer_fd_is_due(int timer)
{
	struct kevent event;

	return take_event(timer, &event) > 0;
}

int any_fd_open(void)
{
	autoclose int queue = kqueue();

	return queue < 0 || fcntl(queue, F_SETFD, FD_CLOEXEC) < 0 ? -1 : steal_fd(&queue);
}

int any_fd_add(int any, int fd)
{
	return change_kqueue(any, (uintptr_t)fd, EVFILT_READ, EV_ADD, 0, 0);
}

/* --- signals ---------------------------------------------------------------------------------- */

/*
 * Opens a descriptor for signals. EVFILT_SIGNAL reports each signal that is sent from then on, even
 * if the signal is blocked or ignored. EVFILT_SIGNAL does not report signals that are already
 * pending. For each of these, a user event with the number of the signal is triggered. A blocked
 * signal stays pending until sigwait() removes it.
 */
int signal_fd_open(const sigset_t *set)
{
	autoclose int queue = any_fd_open();
	sigset_t pending;

	if (queue < 0)
		return -1;
	for (int i = 1; i < NSIG; i++)
		if (sigismember(set, i) == 1 &&
		    change_kqueue(queue, (uintptr_t)i, EVFILT_SIGNAL, EV_ADD, 0, 0) < 0)
			return -1;
	if (sigpending(&pending) < 0)
		return -1;
	for (int i = 1; i < NSIG; i++)
		if (sigismember(set, i) == 1 && sigismember(&pending, i) == 1 &&
		    (change_kqueue(queue, (uintptr_t)i, EVFILT_USER, EV_ADD | EV_ONESHOT, 0, 0) <
			     0 ||
		     change_kqueue(queue, (uintptr_t)i, EVFILT_USER, 0, NOTE_TRIGGER, 0) < 0))
			return -1;
	return steal_fd(&queue);
}

/* Returns true if a signal is discarded when it is sent, even while it is blocked
 * (sigaction(2)). */
static bool is_thrown_away(int signal)
{
	struct sigaction action;

	if (sigaction(signal, NULL, &action) < 0)
		return false;
	if (action.sa_handler == SIG_IGN)
		return true;
	return action.sa_handler == SIG_DFL &&
	       (signal == SIGCHLD || signal == SIGWINCH || signal == SIGURG || signal == SIGIO ||
		signal == SIGINFO || signal == SIGCONT);
}

int signal_fd_take(int fd)
{
	struct kevent event;
	sigset_t pending, one;
	int signal, taken;

	while (take_event(fd, &event) > 0) {
		signal = (int)event.ident;
		if (sigpending(&pending) == 0 && sigismember(&pending, signal) == 1) {
			sigemptyset(&one);
			sigaddset(&one, signal);
			return sigwait(&one, &taken) == 0 ? taken : 0;
		}
		if (is_thrown_away(signal))
			return signal;
	}
	return 0; /* there is no further event, or the signal was already read through another
		   * descriptor */
}

/* --- the clock -------------------------------------------------------------------------------- */

/* Declarations from notify(3), because the header is only in Apple's SDK. The string is
 * kNotifyClockSet of notify_keys.h. */
#define CLOCK_SET_NAME "com.apple.system.clock_set"
#define NOTIFY_OK 0
uint32_t notify_register_file_descriptor(const char *name, int *fd, int flags, int *token);

int clock_set_fd_open(void)
{
	int fd = -1, token;

	if (notify_register_file_descriptor(CLOCK_SET_NAME, &fd, 0, &token) != NOTIFY_OK) {
		errno = ENOTSUP;
		return -1;
	}
	if (fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) == 0)
		return fd;
	close(fd);
	return -1;
}

/* Reads the tokens in `fd`. notifyd writes one token each time the clock is set. */
int clock_set_fd_take(int fd)
{
	int token, any = 0;
	ssize_t n;

	while ((n = read(fd, &token, sizeof(token))) > 0)
		any = 1;
	return n < 0 && errno != EAGAIN ? -1 : any;
}
