/* SPDX-License-Identifier: MIT */
/*
 * Waits for a flock with a deadline. When a flock is released, explicitly or by the last close, a
 * kqueue tells all waiting processes (NOTE_FUNLOCK, kqueue(2)). Each of these processes then tries
 * to get the lock, and one of them succeeds.
 */
#include <errno.h>
#include <poll.h>
#include <sys/event.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/waitable.h"
#include "store/store.h"

/* Tries to get the lock. Returns 1 if this process has it, 0 if another process has it, or -1 with
 * err set. */
static int try_lock(int fd, int operation, const char *what, struct error *err)
{
	if (flock(fd, operation | LOCK_NB) == 0)
		return 1;
	return errno == EWOULDBLOCK ? 0 : error_errno(err, errno, "lock %s", what);
}

int flock_until(int fd, int operation, uint64_t deadline_ns, const char *what, struct error *err)
{
	const struct timespec now = {0};
	autoclose int queue = -1;
	struct kevent change, event;
	int got = try_lock(fd, operation, what, err);

	if (got != 0)
		return got > 0 ? 0 : -1;
	queue = any_fd_open();
	EV_SET(&change, (uintptr_t)fd, EVFILT_VNODE, EV_ADD | EV_CLEAR, NOTE_FUNLOCK, 0, NULL);
	if (queue < 0 || kevent(queue, &change, 1, NULL, 0, NULL) < 0)
		return error_errno(err, errno, "lock %s: wait for it", what);
	/* The lock is tried after the kqueue has begun to watch the file, because the kqueue does
	 * not report a release that came earlier. */
	while ((got = try_lock(fd, operation, what, err)) == 0) {
		if (fd_wait(queue, POLLIN, deadline_ns, err) < 0)
			return error_prefix(err, "%s is in use", what);
		while (kevent(queue, NULL, 0, &event, 1, &now) > 0)
			;
	}
	return got > 0 ? 0 : -1;
}
