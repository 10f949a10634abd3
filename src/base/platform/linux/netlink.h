/* SPDX-License-Identifier: MIT */
/*
 * Netlink: builds requests, and reads the kernel's answers. The answers are not hostile, but
 * kernels have many versions: every length in an answer is checked, in one place for messages
 * (netlink_next) and one for attributes (netlink_attribute), and a part that is too short counts as
 * absent.
 *
 * All of it is about the network namespace in which the socket was opened.
 */
#ifndef BASE_PLATFORM_LINUX_NETLINK_H
#define BASE_PLATFORM_LINUX_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- what is said ---------------------------------------------------------------------------- */

#define NETLINK_MESSAGE_BYTES 512

struct netlink_message {
	uint8_t bytes[NETLINK_MESSAGE_BYTES] __attribute__((aligned(4)));
	size_t len;
	bool overfull; /* something had no room: the message is never sent */
};

/* Begins a message. flags are set beside NLM_F_REQUEST; body is the fixed part (struct ifinfomsg,
 * rtmsg, ...). */
void netlink_begin(struct netlink_message *message, uint16_t type, uint16_t flags, const void *body,
		   size_t len);
void netlink_put(struct netlink_message *message, uint16_t type, const void *data, size_t len);
void netlink_put_u32(struct netlink_message *message, uint16_t type, uint32_t value);
void netlink_put_string(struct netlink_message *message, uint16_t type, const char *text);
/* Begins a nested attribute: everything put until netlink_nest_end() is inside of it. Returns the
 * value for netlink_nest_end(). */
size_t netlink_nest(struct netlink_message *message, uint16_t type);
void netlink_nest_end(struct netlink_message *message, size_t nest);

/* --- what is heard --------------------------------------------------------------------------- */

struct netlink_bytes {
	const uint8_t *data;
	size_t len;
};

struct netlink_reply {
	uint16_t type, flags;
	uint32_t sequence;
	struct netlink_bytes body;
};

/* Takes one message off the front of a datagram. Returns false at the end, and before a message
 * that is cut short. */
bool netlink_next(struct netlink_bytes *datagram, struct netlink_reply *out);
/* Reads the fixed part of a body, and the attributes behind it. */
bool netlink_head(struct netlink_bytes body, void *head, size_t len,
		  struct netlink_bytes *attributes);
/* Finds the first attribute of that type, with any flags. */
bool netlink_attribute(struct netlink_bytes attributes, uint16_t type, struct netlink_bytes *out);
/* Reads an attribute of exactly four bytes. */
bool netlink_u32(struct netlink_bytes attributes, uint16_t type, uint32_t *out);

/* --- a conversation -------------------------------------------------------------------------- */

/* A function that is called with each message of a dump. */
typedef int netlink_take_fn(void *data, const struct netlink_reply *reply, struct error *err);

/* Reads one datagram of the answer to the request with that number. Returns 1 if more will come, 0
 * after its end. ERR_UNAVAILABLE with EINTR if a change interrupted the dump, so that something may
 * be missing. */
int netlink_take(struct netlink_bytes datagram, uint32_t sequence, netlink_take_fn *take,
		 void *data, struct error *err);

/* Opens a socket. protocol: NETLINK_ROUTE and the like. */
int netlink_open(int protocol, struct error *err);
/* Sends a request and waits for its result. The error has the kernel's errno and, if there is one,
 * the kernel's sentence. */
int netlink_request(int fd, struct netlink_message *message, struct error *err);
int netlink_dump(int fd, struct netlink_message *message, netlink_take_fn *take, void *data,
		 struct error *err);

#endif
