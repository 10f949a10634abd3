/* SPDX-License-Identifier: MIT */
/*
 * A thin layer over epoll. The daemon does not use base/loop.h, which allocates memory for every
 * watch: the daemon must allocate nothing after its start. The 64 bits of data in an event say
 * which descriptor the event is about.
 *
 * Listeners are watched level-triggered, all other descriptors edge-triggered. An edge-triggered
 * event says only once that something has changed. So code that cannot handle the event at once
 * must remember it. In return most streams need only one epoll_ctl(), and a kick needs no read().
 */
#ifndef VSOCKD_POLL_H
#define VSOCKD_POLL_H

#include <stdint.h>

enum poll_type {
	POLL_VHOST,	   /* the front-end's connection */
	POLL_VHOST_LISTEN, /* the listener at which the front-end is awaited */
	POLL_PORT_LISTEN,  /* the listener at which the guest's one connection is awaited */
	POLL_KICK,	   /* the eventfd of a kick; `index` is the queue */
	POLL_LISTEN,	   /* the listener for host clients */
	POLL_STREAM,	   /* the host's socket of a stream; `index` is the stream */
	POLL_PORT,	   /* the connection that is used as the guest's port */
	POLL_TYPE_COUNT
};

union poll_ref {
	uint64_t all;
	struct {
		uint32_t index;
		/* The generation of the stream. An earlier stream with the same index had another
		 * generation. */
		uint16_t generation;
		uint16_t type;
	};
};

/* Functions that begin, change and end the watch of a descriptor. poll_add() and poll_change()
 * return 0, or -1 with the errno of epoll_ctl(). Closing a descriptor ends its watch only if no
 * other process has the same open file. The front-end keeps each eventfd that it has sent, so the
 * watch of such an eventfd must be removed before the eventfd is closed. */
int poll_add(int epfd, int fd, uint32_t events, union poll_ref ref);
int poll_change(int epfd, int fd, uint32_t events, union poll_ref ref);
void poll_remove(int epfd, int fd);

#endif
