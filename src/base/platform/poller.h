/* SPDX-License-Identifier: MIT */
/*
 * The poller: the call of the operating system by which the loop waits, for a set of descriptors
 * and one deadline. Only loop.c uses the poller. The poller's events are those of loop.h.
 */
#ifndef BASE_PLATFORM_POLLER_H
#define BASE_PLATFORM_POLLER_H

#include <stdint.h>

#define POLLER_EVENTS 64 /* the largest number of events that one wait returns */

struct poller; /* each operating system gives this struct its own members */

struct poller_event {
	void *data; /* the `data` that was given to poller_set() */
	uint32_t events;
};

struct poller *poller_new(void); /* returns NULL with errno on failure */
void poller_free(struct poller *poller);
/* Changes the events for which `fd` is watched from `from` to `to`. `from` is 0 if `fd` was not
 * watched; if `to` is 0, `fd` is not watched any more. Returns -1 with errno on failure. EPERM:
 * `fd` never blocks, so it cannot be watched. */
int poller_set(struct poller *poller, int fd, uint32_t from, uint32_t to, void *data);
/*
 * Waits at most `timeout_ms` ms (-1: without this limit; 0: does not wait), and at most until
 * `deadline_ns` on the monotonic clock (UINT64_MAX: there is no deadline). May return earlier
 * without an event. Returns the number of events, of which no two have the same `data`. Returns -1
 * with errno on failure.
 */
int poller_wait(struct poller *poller, struct poller_event events[POLLER_EVENTS], int timeout_ms,
		uint64_t deadline_ns);

#endif
