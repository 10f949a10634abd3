/* SPDX-License-Identifier: MIT */
/*
 * epoll, as thin as can be: base/loop.h allocates for every watch, and this daemon allocates
 * nothing after its start. What an event belongs to is in the event's own 64 bits.
 *
 * Everything is watched edge-triggered but listeners: an event says that something has changed, and
 * whoever cannot use it at once remembers it. So a stream costs one epoll_ctl() in its life, and
 * kicks cost no read().
 */
#ifndef VSOCKD_POLL_H
#define VSOCKD_POLL_H

#include <stdint.h>

enum poll_type {
	POLL_VHOST,	   /* the front-end's connection */
	POLL_VHOST_LISTEN, /* the front-end is awaited here */
	POLL_PORT_LISTEN,  /* the guest's one connection is awaited here */
	POLL_KICK,	   /* index: the queue */
	POLL_LISTEN,	   /* host clients */
	POLL_STREAM,	   /* index: the stream */
	POLL_PORT,	   /* QEMU's socket to the guest's port */
	POLL_TYPE_COUNT
};

union poll_ref {
	uint64_t all;
	struct {
		uint32_t index;
		uint16_t generation; /* tells an event of a stream's predecessor from its own */
		uint16_t type;
	};
};

/* These return 0 or -1 with errno, for epoll_ctl()'s reasons. Closing a descriptor ends its watch
 * if nobody else holds the same open file; an eventfd got from the front-end must be removed first.
 */
int poll_add(int epfd, int fd, uint32_t events, union poll_ref ref);
int poll_change(int epfd, int fd, uint32_t events, union poll_ref ref);
void poll_remove(int epfd, int fd);

#endif
