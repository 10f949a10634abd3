/* SPDX-License-Identifier: MIT */
/*
 * kqueue. Compiled and linked for macOS, never run on one.
 *
 * A descriptor has up to three filters here where epoll has one entry: EVFILT_READ for LOOP_IN and
 * LOOP_RDHUP, EVFILT_WRITE for LOOP_OUT, EVFILT_EXCEPT for LOOP_PRI. What several of them tell in
 * one wait is put together again, since a watch is called once a round. kqueue(2) has the facts:
 * an end is EV_EOF, with a socket's error in fflags; a filter that is EV_CLEAR tells of changes.
 */
#include "base/platform/poller.h"

#include <errno.h>
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
	uint32_t events;
	uint32_t fflags;
} filters[] = {
	{EVFILT_READ, LOOP_IN | LOOP_RDHUP, 0},
	{EVFILT_WRITE, LOOP_OUT, 0},
	{EVFILT_EXCEPT, LOOP_PRI, NOTE_OOB},
};

/* Who waits for the end of input alone must not be told of the input for ever. */
static bool tells_changes(int16_t filter, uint32_t events)
{
	return events & LOOP_EDGE || (filter == EVFILT_READ && !(events & LOOP_IN));
}

static int add_changes(struct kevent *out, int fd, size_t which, uint32_t from, uint32_t to,
		       void *data)
{
	int16_t filter = filters[which].filter;
	bool had = from & filters[which].events, has = to & filters[which].events;
	bool clear = tells_changes(filter, to);
	int n = 0;

	/* EV_CLEAR is what a filter was made with. */
	if (had && (!has || clear != tells_changes(filter, from)))
		EV_SET(&out[n++], fd, filter, EV_DELETE | EV_RECEIPT, 0, 0, NULL);
	if (has)
		EV_SET(&out[n++], fd, filter, EV_ADD | EV_RECEIPT | (clear ? EV_CLEAR : 0),
		       filters[which].fflags, 0, data);
	return n;
}

/* kqueue takes some of these too, but a file that is read to its end would be ready no more. */
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
	/* One that is gone went with its descriptor. */
	for (int i = 0; i < got && i < n; i++)
		if (receipts[i].flags & EV_ERROR && receipts[i].data &&
		    !(changes[i].flags & EV_DELETE)) {
			errno = (int)receipts[i].data;
			return -1;
		}
	return 0;
}

/* --- waiting ---------------------------------------------------------------------------------- */

static uint32_t events_of(const struct kevent *e)
{
	bool end = e->flags & EV_EOF;
	uint32_t error = end && e->fflags ? LOOP_ERR : 0;

	if (e->filter == EVFILT_WRITE)
		return LOOP_OUT | error;
	if (e->filter == EVFILT_EXCEPT)
		return LOOP_PRI;
	return LOOP_IN | error | (end ? LOOP_RDHUP : 0);
}

/* Both directions are over when the two filters say so together. */
static int merge_event(struct poller_event *events, bool *ended, int count, const struct kevent *e)
{
	int i = 0;

	while (i < count && events[i].data != e->udata)
		i++;
	if (i == count) {
		events[count++] = (struct poller_event){.data = e->udata};
		ended[i] = false;
	}
	events[i].events |= events_of(e);
	if (e->flags & EV_EOF && ended[i])
		events[i].events |= LOOP_HUP;
	ended[i] |= (e->flags & EV_EOF) != 0;
	return count;
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
	bool ended[POLLER_EVENTS];
	struct timespec wait;
	int count = 0, n;

	n = kevent(p->kqueue, NULL, 0, got, POLLER_EVENTS,
		   time_to_wait(timeout_ms, deadline_ns, &wait));
	for (int i = 0; i < n; i++)
		count = merge_event(events, ended, count, &got[i]);
	return n < 0 ? -1 : count;
}
