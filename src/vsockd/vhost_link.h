/* SPDX-License-Identifier: MIT */
/* The front-end's connection: reads whole messages with their descriptors, and writes the
 * answers. */
#ifndef VSOCKD_VHOST_LINK_H
#define VSOCKD_VHOST_LINK_H

#include "base/error.h"
#include "vsockd/vhost_user.h"

struct vhost_link {
	int fd;			      /* non-blocking */
	struct vhost_message message; /* the message that is being read */
	uint8_t header[VHOST_HEADER];
	uint32_t got; /* bytes of the message that have been read, header included */
};

void vhost_link_init(struct vhost_link *link, int fd);
/* Handles a bounded number of the messages that have come. Returns 1 if all have been handled; 2 if
 * there may be more; 0 if the connection has ended; -1 with an error if it cannot go on. */
int vhost_link_read(struct vhost_link *link, struct device *device, struct error *err);

#endif
