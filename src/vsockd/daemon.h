/* SPDX-License-Identifier: MIT */
/* The event loop: hands events of epoll to the core and to its face. */
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

/* How the guest is reached: one of these descriptors; the others are -1. */
struct daemon_face {
	int vhost_fd; /* the connection of the front-end */
	int vhost_listen;
	int port_fd;
	int port_listen; /* where the guest makes the connection that serves as the port */
};

struct daemon {
	int epfd;
	int vhost_listen; /* -1 when the front-end has connected */
	int port_listen;  /* -1 when the port has connected */
	bool connected;	  /* the front-end's connection is open */
	bool link_again;  /* the link may have more messages, without a further event */
	uint64_t end;	  /* ns, when the daemon ends, since the front-end is gone; 0: not yet */
	uint64_t drain_ns;
	int idle_ms;
	int busy_fd;  /* -1: nobody is told */
	bool busy;    /* what was told last: whether the host has a stream */
	bool began;   /* the guest was seen, and this was told */
	bool trimmed; /* nothing has happened since guest memory was last released */
	struct log *log;
	struct core core;
	struct device device;
	struct vhost_link link;
	struct port port; /* the other face; fd -1: there are rings, or it is awaited */
};

/* Sets up the daemon. Fills in config->epfd and config->log. */
int daemon_init(struct daemon *daemon, struct core_config *config, const struct daemon_face *face,
		struct log *log, struct error *err);
/* Sends the messages of vsockd_tells.h to an eventfd from now on. */
void daemon_tell_busy(struct daemon *daemon, int fd);
/* Runs until the guest's VMM has ended the connection, and then until all that the guest sent has
 * been delivered or drain_ns have passed. */
int daemon_run(struct daemon *daemon, struct error *err);

#endif
