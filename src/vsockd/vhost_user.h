/* SPDX-License-Identifier: MIT */
/*
 * The vhost-user messages. Each has a function, and a table that finds the function also says how
 * long a message may be and how many descriptors it may carry. This part gets whole messages, as
 * bytes and descriptors; vhost_link.h reads them from the socket.
 */
#ifndef VSOCKD_VHOST_USER_H
#define VSOCKD_VHOST_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "vsockd/device.h"

#define VHOST_HEADER 12
#define VHOST_PAYLOAD 320 /* the longest known message is SET_MEM_TABLE with 264 bytes */
#define VHOST_FDS MEMORY_REGIONS

struct vhost_message {
	uint32_t request;
	uint32_t flags;
	uint32_t size; /* bytes of the payload */
	uint8_t payload[VHOST_PAYLOAD];
	int fds[VHOST_FDS]; /* vhost_user_handle() closes them unless it keeps one */
	unsigned nfds;
};

/* The answer to a message; if size is 0, there is no answer. */
struct vhost_reply {
	uint8_t bytes[VHOST_HEADER + VHOST_PAYLOAD];
	uint32_t size; /* header included */
};

/* Reads the header's three numbers. Refuses a wrong version and a payload that is too long. */
int vhost_user_header(const uint8_t raw[VHOST_HEADER], struct vhost_message *message,
		      struct error *err);
/* Carries the message out. Fails if the message is wrong and no answer can tell the front-end so;
 * the connection is then useless. All descriptors of the message are used or closed. */
int vhost_user_handle(struct device *device, struct vhost_message *message,
		      struct vhost_reply *reply, struct error *err);

#endif
