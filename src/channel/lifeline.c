/* SPDX-License-Identifier: MIT */
#include "channel/lifeline.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

/* The near ends (lifeline.h) of all lifelines of this process. */
static struct {
	pthread_mutex_t lock;
	int *fds;
	size_t count, room;
} held = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void)
{
	pthread_mutex_lock(&held.lock);
}

static void in_parent(void)
{
	pthread_mutex_unlock(&held.lock);
}

/* Closes the copies of the near ends in a forked child. The lifelines belong to the parent, so the
 * child closes them without a message to the supervisors. */
static void in_child(void)
{
	for (size_t i = 0; i < held.count; i++)
		close(held.fds[i]);
	held.count = 0;
	pthread_mutex_unlock(&held.lock);
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, in_parent, in_child);
}

/* Stops the supervisor from sending anything to the near end. A supervisor that an attacker
 * controls could otherwise send descriptors, for example its lease. Nobody would ever read the
 * message, so the lease would stay open, and count as a process of the machine, until the near end
 * is closed. */
static void refuse_messages(int fd)
{
	char byte;

	(void)shutdown(fd, SHUT_RD);
	while (recv(fd, &byte, 1, MSG_DONTWAIT) > 0)
		;
}

int lifeline_adopt(int fd, struct error *err)
{
	int status = 0;

	refuse_messages(fd);
	pthread_once(&once, watch_forks);
	pthread_mutex_lock(&held.lock);
	if (held.count == held.room) {
		size_t room = held.room ? 2 * held.room : 16;
		int *fds = realloc(held.fds, room * sizeof(*fds));

		if (fds) {
			held.fds = fds;
			held.room = room;
		} else {
			status = error_errno(err, ENOMEM, "lifeline");
		}
	}
	if (status == 0)
		held.fds[held.count++] = fd;
	pthread_mutex_unlock(&held.lock);
	return status;
}

int lifeline_open(int *near_end, int *far_end, struct error *err)
{
	int ends[2];

	if (fd_socketpair(ends, err) < 0)
		return -1;
	if (lifeline_adopt(ends[0], err) < 0) {
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	*near_end = ends[0];
	*far_end = ends[1];
	return 0;
}

/* Removes `fd` from the list of near ends. The caller holds the lock. Returns true if `fd` was in
 * the list. */
static bool forget(int fd)
{
	for (size_t i = 0; i < held.count; i++) {
		if (held.fds[i] != fd)
			continue;
		held.fds[i] = held.fds[--held.count];
		return true;
	}
	return false;
}

/* Ends a lifeline. If `goes_on` is true, the machine is told to go on without the lifeline. One
 * lock covers both steps. Without the lock, a child that is forked between the two steps would have
 * a copy of a near end that is no longer in the list, and would not close the copy. */
static void end_line(int *near_end, bool goes_on)
{
	pthread_mutex_lock(&held.lock);
	if (*near_end >= 0 && forget(*near_end)) {
		if (goes_on)
			(void)!send(*near_end, "", 1, MSG_NOSIGNAL);
		else
			(void)shutdown(*near_end, SHUT_RDWR);
		close(*near_end);
	}
	*near_end = -1;
	pthread_mutex_unlock(&held.lock);
}

void lifeline_let_go(int *near_end)
{
	end_line(near_end, true);
}

void lifeline_cut(int *near_end)
{
	end_line(near_end, false);
}
