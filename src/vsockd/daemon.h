/* SPDX-License-Identifier: MIT */
/* The event loop: what epoll says goes to the core and to its face. */
#ifndef VSOCKD_DAEMON_H
#define VSOCKD_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/log.h"
#include "vsockd/core.h"
#include "vsockd/device.h"
#include "vsockd/port.h"
#include "vsockd/vhost_link.h"

/* How the guest is reached: one of these, the others are -1. */
struct daemon_face {
	int vhost_fd; /* the front-end's connection, or */
	int vhost_listen;
	int port_fd;
	int port_listen; /* where the guest makes the connection that is the port */
};

struct daemon {
	int epfd;
	int vhost_listen; /* -1 once the front-end is there */
	int port_listen;  /* -1 once the port is there */
	bool connected;	  /* the link is */
	bool link_again;  /* it may have more messages, of which no event will tell */
	uint64_t end;	  /* ns; the front-end is gone and this is when we go too; 0: not yet */
	uint64_t drain_ns;
	int idle_ms;
	int busy_fd;  /* -1: nobody wants to know */
	bool busy;    /* as it was told: the host has a stream */
	bool began;   /* the guest was seen, and that was told */
	bool trimmed; /* nothing has happened since guest memory was last let go */
	struct log *log;
	struct core core;
	struct device device;
	struct vhost_link link;
	struct port port; /* the other face: fd -1 if there are rings, or it is awaited */
};

/* config->epfd and config->log are filled in. */
int daemon_init(struct daemon *daemon, struct core_config *config, const struct daemon_face *face,
		struct log *log, struct error *err);
/* From now on an eventfd is told what vsockd_tells.h has. */
void daemon_tell_busy(struct daemon *daemon, int fd);
/* Until the guest's VMM has ended the connection, and what its guest sent has been delivered or
 * drain_ns have passed. */
int daemon_run(struct daemon *daemon, struct error *err);

#endif
