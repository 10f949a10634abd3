/* SPDX-License-Identifier: MIT */
/*
 * Waits by kqueue. This file was compiled and linked for macOS, but never run there.
 *
 * A watched descriptor has up to two filters: EVFILT_READ for LOOP_IN and LOOP_RDHUP, EVFILT_WRITE
 * for LOOP_OUT, and both for LOOP_HUP. If both filters report events in one wait, these events are
 * combined, because a watch is called only once in a round. According to kqueue(2), EV_EOF reports
 * that a direction has ended, with the error of a socket in fflags, and a filter with EV_CLEAR
 * reports only changes. No filter reports LOOP_PRI.
 *
 * Each filter reports the end of its own direction. The two filters may report in different waits.
 * So when one direction has ended, poll(2) is called, which reports POLLHUP if the other direction
 * has ended too (poll_callback() in bsd/kern/sys_generic.c of
 * https://github.com/apple-oss-distributions/xnu).
 */
#include "base/platform/poller.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/loop.h"

struct poller {
	int kqueue;
};

struct poller *poller_new(void)
{
	struct poller *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->kqueue = kqueue();
	if (p->kqueue >= 0)
		return p;
	free(p);
	return NULL;
}

void poller_free(struct poller *p)
{
	if (!p)
		return;
	cleanup_close(&p->kqueue);
	free(p);
}

/* --- the set ---------------------------------------------------------------------------------- */

static const struct {
	int16_t filter;
	uint32_t ready; /* the event for which the filter waits */
	uint32_t ends;	/* the events that are also reported when the direction of the filter has
			 * ended */
} filters[] = {
	{EVFILT_READ, LOOP_IN, LOOP_RDHUP | LOOP_HUP},
	{EVFILT_WRITE, LOOP_OUT, LOOP_HUP},
};

static bool has_filter(size_t which, uint32_t events)
{
	return events & (filters[which].ready | filters[which].ends);
}

/* Returns true if a filter must report only changes: for LOOP_EDGE, and for a watch that waits only
 * for the end of a direction. Otherwise a watch of the second kind would get endless reports of
 * unread data. */
static bool tells_changes(size_t which, uint32_t events)
{
	return events & LOOP_EDGE || !(events & filters[which].ready);
}

static int add_changes(struct kevent *out, int fd, size_t which, uint32_t from, uint32_t to,
		       void *data)
{
	int16_t filter = filters[which].filter;
	bool had = has_filter(which, from), has = has_filter(which, to);
	bool clear = tells_changes(which, to);
	int n = 0;

	/* EV_CLEAR can be set only when the filter is made. */
	if (had && (!has || clear != tells_changes(which, from)))
		EV_SET(&out[n++], fd, filter, EV_DELETE | EV_RECEIPT, 0, 0, NULL);
	if (has)
		EV_SET(&out[n++], fd, filter, EV_ADD | EV_RECEIPT | (clear ? EV_CLEAR : 0), 0, 0,
		       data);
	return n;
}

/* Returns true if a file never blocks. kqueue is not used for such a file: it accepts some of these
 * files, but would not report a file as ready after all of it was read. */
static bool never_blocks(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) || (S_ISCHR(st.st_mode) && !isatty(fd)));
}

int poller_set(struct poller *p, int fd, uint32_t from, uint32_t to, void *data)
{
	struct kevent changes[2 * ARRAY_SIZE(filters)], receipts[2 * ARRAY_SIZE(filters)];
	const struct timespec now = {0};
	int n = 0, got;

	if (!from && never_blocks(fd)) {
		errno = EPERM;
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(filters); i++)
		n += add_changes(&changes[n], fd, i, from, to, data);
	got = kevent(p->kqueue, changes, n, receipts, n, &now);
	if (got < 0)
		return -1;
	/* A failed EV_DELETE is not an error: the filter was removed when its descriptor was
	 * closed. */
	for (int i = 0; i < got && i < n; i++)
		if (receipts[i].flags & EV_ERROR && receipts[i].data &&
		    !(changes[i].flags & EV_DELETE)) {
			errno = (int)receipts[i].data;
			return -1;
		}
	return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static bool is_direction_over(int fd, short direction)
{
	struct pollfd p = {.fd = fd, .events = direction};

	return poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

static uint32_t events_of(const struct kevent *e)
{
	bool writes = e->filter == EVFILT_WRITE;
	uint32_t events = writes ? LOOP_OUT : LOOP_IN;

	if (!(e->flags & EV_EOF))
		return events;
	if (!writes)
		events |= LOOP_RDHUP;
	if (e->fflags)
		events |= LOOP_ERR;
	if (is_direction_over((int)e->ident, writes ? POLLIN : POLLOUT))
		events |= LOOP_HUP;
	return events;
}

static const struct timespec *time_to_wait(int timeout_ms, uint64_t deadline_ns,
					   struct timespec *out)
{
	const struct timespec *left = fd_time_left(deadline_ns, out);

	if (timeout_ms < 0)
		return left;
	if (left && (left->tv_sec < timeout_ms / 1000 ||
		     (left->tv_sec == timeout_ms / 1000 &&
		      left->tv_nsec < timeout_ms % 1000 * (long)NS_PER_MS)))
		return left;
	*out = (struct timespec){.tv_sec = timeout_ms / 1000,
				 .tv_nsec = timeout_ms % 1000 * (long)NS_PER_MS};
	return out;
}

int poller_wait(struct poller *p, struct poller_event events[POLLER_EVENTS], int timeout_ms,
		uint64_t deadline_ns)
{
	struct kevent got[POLLER_EVENTS];
	struct timespec wait;
	int count = 0, n;

	n = kevent(p->kqueue, NULL, 0, got, POLLER_EVENTS,
		   time_to_wait(timeout_ms, deadline_ns, &wait));
	for (int i = 0; i < n; i++) {
		int at = 0;

		while (at < count && events[at].data != got[i].udata)
			at++;
		if (at == count)
			events[count++] = (struct poller_event){.data = got[i].udata};
		events[at].events |= events_of(&got[i]);
	}
	return n < 0 ? -1 : count;
}
