/* SPDX-License-Identifier: MIT */
/*
 * The vhost-user messages. Each message has a row in a table, with the function that handles the
 * message, the length that the message may have, and the number of its descriptors. The functions
 * of the table get whole messages, as bytes and descriptors; vhost_link.h reads them from the
 * socket.
 */
#ifndef VSOCKD_VHOST_USER_H
#define VSOCKD_VHOST_USER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "vsockd/device.h"

#define VHOST_HEADER 12
/* The most bytes of a payload. The longest known payload, of SET_MEM_TABLE, has 264 bytes. */
#define VHOST_PAYLOAD 320
#define VHOST_FDS MEMORY_REGIONS

struct vhost_message {
	uint32_t request;
	uint32_t flags;
	uint32_t size; /* the number of bytes of the payload */
	uint8_t payload[VHOST_PAYLOAD];
	int fds[VHOST_FDS]; /* the descriptors that came with the message; vhost_user_handle() takes
			     * them over */
	unsigned nfds;
};

/* The answer to a message; if size is 0, there is no answer. */
struct vhost_reply {
	uint8_t bytes[VHOST_HEADER + VHOST_PAYLOAD];
	uint32_t size; /* the number of bytes, including the header */
};

/* Reads the three numbers of the header. ERR_INVALID: the version is wrong, the message is an
 * answer, or the payload is too long. */
int vhost_user_header(const uint8_t raw[VHOST_HEADER], struct vhost_message *message,
		      struct error *err);
/* Handles the message and makes the answer. If the message is wrong and the front-end awaits an
 * answer, the answer says so. If the message is wrong and the front-end awaits no answer, the
 * function fails, and the connection cannot be used any more. All descriptors of the message are
 * kept for the device or closed, even after an error. */
int vhost_user_handle(struct device *device, struct vhost_message *message,
		      struct vhost_reply *reply, struct error *err);

#endif
