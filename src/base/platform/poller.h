/* SPDX-License-Identifier: MIT */
/*
 * The system's call with which the loop waits: for a set of descriptors and one deadline. Only
 * loop.c uses it; the events are those of loop.h.
 */
#ifndef BASE_PLATFORM_POLLER_H
#define BASE_PLATFORM_POLLER_H

#include <stdint.h>

#define POLLER_EVENTS 64 /* the most events of one wait */

struct poller; /* each system has its own */

struct poller_event {
	void *data; /* as given to poller_set() */
	uint32_t events;
};

struct poller *poller_new(void); /* NULL with errno on failure */
void poller_free(struct poller *poller);
/* Changes the events for which fd is in the set from `from` (0: it is not in the set) to `to` (0:
 * it leaves the set). -1 with errno; EPERM if fd never blocks, and cannot be waited for. */
int poller_set(struct poller *poller, int fd, uint32_t from, uint32_t to, void *data);
/*
 * Waits for timeout_ms at most (-1: without end) and, if it waits at all, no longer than until
 * deadline_ns on the monotonic clock (UINT64_MAX: none). It may return earlier without an event.
 * Returns the number of events, each with different data; -1 with errno on failure.
 */
int poller_wait(struct poller *poller, struct poller_event events[POLLER_EVENTS], int timeout_ms,
		uint64_t deadline_ns);

#endif
