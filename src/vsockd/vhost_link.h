/* SPDX-License-Identifier: MIT */
/* The connection of the front-end. The functions read whole messages with their descriptors, and
 * write the answers. */
#ifndef VSOCKD_VHOST_LINK_H
#define VSOCKD_VHOST_LINK_H

#include "base/error.h"
#include "vsockd/vhost_user.h"

struct vhost_link {
	int fd;			      /* the non-blocking socket of the connection */
	struct vhost_message message; /* the message that is being read */
	uint8_t header[VHOST_HEADER];
	uint32_t got; /* the number of bytes of the message that were read, including its header */
};

void vhost_link_init(struct vhost_link *link, int fd);
/* Reads and handles a limited number of messages. Returns 1 if no complete message is left, 2 if
 * there may be more messages, 0 if the connection has ended, or -1 with an error. After an error
 * the connection cannot be used any more. */
int vhost_link_read(struct vhost_link *link, struct device *device, struct error *err);

#endif
