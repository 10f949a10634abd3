/* SPDX-License-Identifier: MIT */
/*
 * A thin layer over epoll. base/loop.h allocates for every watch, but this daemon must allocate
 * nothing after its start. The 64 bits of an event say what it belongs to.
 *
 * Everything but listeners is watched edge-triggered: an event says that something has changed, and
 * code that cannot use the event at once must remember it. So a stream costs one epoll_ctl() in its
 * life, and kicks cost no read().
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
		uint16_t generation; /* differs from an earlier stream's of the same index */
		uint16_t type;
	};
};

/* These functions return 0, or -1 with errno for epoll_ctl()'s reasons. Closing a descriptor ends
 * its watch unless another process holds the same open file. So an eventfd that the front-end sent
 * must be removed before it is closed. */
int poll_add(int epfd, int fd, uint32_t events, union poll_ref ref);
int poll_change(int epfd, int fd, uint32_t events, union poll_ref ref);
void poll_remove(int epfd, int fd);

#endif
