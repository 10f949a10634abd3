/* SPDX-License-Identifier: MIT */
/* The event loop, which passes events of epoll to the core, and to the device (device.h) or the
 * port (port.h) by which the guest is reached. */
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

/* The descriptor by which the guest is reached. One of the four members is set, and the others are
 * -1. */
struct daemon_face {
	int vhost_fd;	  /* the connection of the front-end */
	int vhost_listen; /* a listener to which the front-end will connect */
	int port_fd;	  /* the connection to the guest's port */
	int port_listen;  /* a listener; the guest's connection to this listener is used as the
			   * port */
};

struct daemon {
	int epfd;
	int vhost_listen; /* the listener for the front-end; -1: there is no listener, or the
			   * front-end has connected */
	int port_listen;  /* the listener for the guest's port; -1: there is no listener, or the
			   * port has connected */
	bool connected;	  /* the front-end's connection is open */
	bool link_again;  /* the link may have more messages, which no event will announce */
	/* The monotonic time in ns at which the daemon ends, because the guest's VMM has closed the
	 * connection; 0: the VMM has not closed the connection. */
	uint64_t end;
	/* The time in ns to deliver the guest's last bytes after the VMM has closed the
	 * connection. */
	uint64_t drain_ns;
	int idle_ms;  /* the time in ms without an event after which guest memory is released */
	int busy_fd;  /* the eventfd for the messages of vsockd_tells.h; -1: there is none */
	bool busy;    /* the last message to busy_fd said that the host has a stream */
	bool began;   /* the message that the guest's kernel runs was sent to busy_fd */
	bool trimmed; /* nothing has happened since guest memory was last released */
	struct log *log;
	struct core core;
	struct device device;
	struct vhost_link link;
	/* The guest's port, if the guest is reached by a port. port.fd is -1 if `device` is used,
	 * or if no port has connected yet. */
	struct port port;
};

/* Sets up the daemon and watches its descriptors. Sets config->epfd and config->log. */
int daemon_init(struct daemon *daemon, struct core_config *config, const struct daemon_face *face,
		struct log *log, struct error *err);
/* Makes the daemon write the messages of vsockd_tells.h to the eventfd `fd` from now on. */
void daemon_tell_busy(struct daemon *daemon, int fd);
/* Runs until the guest's VMM has closed the connection. Then goes on until all bytes of the guest
 * were delivered, but for at most drain_ns. Returns 0, or -1 with an error. */
int daemon_run(struct daemon *daemon, struct error *err);

#endif
