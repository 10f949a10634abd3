/* SPDX-License-Identifier: MIT */
/*
 * The vhost-user messages: one function each, found in a table that also says how long a message
 * may be and how many descriptors it may carry. This part sees a message whole, as bytes and
 * descriptors; vhost_link.h is what reads it from the socket.
 */
#ifndef VSOCKD_VHOST_USER_H
#define VSOCKD_VHOST_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "vsockd/device.h"

#define VHOST_HEADER 12
#define VHOST_PAYLOAD 320 /* the longest message we know is SET_MEM_TABLE with 264 */
#define VHOST_FDS MEMORY_REGIONS

struct vhost_message {
	uint32_t request;
	uint32_t flags;
	uint32_t size; /* of the payload */
	uint8_t payload[VHOST_PAYLOAD];
	int fds[VHOST_FDS]; /* closed by vhost_user_handle() unless it keeps one */
	unsigned nfds;
};

/* What is to be sent back; nothing if size is 0. */
struct vhost_reply {
	uint8_t bytes[VHOST_HEADER + VHOST_PAYLOAD];
	uint32_t size; /* header included */
};

/* The header's three numbers; refuses a wrong version and a payload that is too long. */
int vhost_user_header(const uint8_t raw[VHOST_HEADER], struct vhost_message *message,
		      struct error *err);
/* Carries the message out. Fails when it is wrong and the front-end cannot be told so by an answer:
 * the connection is useless then. All descriptors of the message are used or closed. */
int vhost_user_handle(struct device *device, struct vhost_message *message,
		      struct vhost_reply *reply, struct error *err);

#endif
