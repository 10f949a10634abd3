/* SPDX-License-Identifier: MIT */
/* The front-end's connection: reads whole messages with their descriptors, writes the answers. */
#ifndef VSOCKD_VHOST_LINK_H
#define VSOCKD_VHOST_LINK_H

#include "base/error.h"
#include "vsockd/vhost_user.h"

struct vhost_link {
	int fd;			      /* non-blocking */
	struct vhost_message message; /* the one being read */
	uint8_t header[VHOST_HEADER];
	uint32_t got; /* bytes of it, header included */
};

void vhost_link_init(struct vhost_link *link, int fd);
/* Handles the messages that have come, a bounded number. 1: all that have come; 2: there may be
 * more; 0: the connection has ended; -1: it cannot go on. */
int vhost_link_read(struct vhost_link *link, struct device *device, struct error *err);

#endif
