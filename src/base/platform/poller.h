/* SPDX-License-Identifier: MIT */
/*
 * What the loop waits with: a set of descriptors and one deadline. For loop.c alone; events are those
 * of loop.h.
 */
#ifndef BASE_PLATFORM_POLLER_H
#define BASE_PLATFORM_POLLER_H

#include <stdint.h>

#define POLLER_EVENTS 64 /* of one wait */

struct poller; /* each system's own */

struct poller_event {
	void *data; /* of poller_set() */
	uint32_t events;
};

struct poller *poller_new(void); /* NULL and errno */
void poller_free(struct poller *poller);
/* fd was waited for with the events `from` (0: it is not in the set), and is from now on with `to`
 * (0: it leaves). -1 and errno; EPERM: it never blocks, and cannot be waited for. */
int poller_set(struct poller *poller, int fd, uint32_t from, uint32_t to, void *data);
/*
 * Waits for timeout_ms at most (-1: without end) and, if it waits at all, no longer than to
 * deadline_ns on the monotonic clock (UINT64_MAX: none), but may return before that with nothing.
 * How many of events there are, each with another data; -1 and errno.
 */
int poller_wait(struct poller *poller, struct poller_event events[POLLER_EVENTS], int timeout_ms,
		uint64_t deadline_ns);

#endif
