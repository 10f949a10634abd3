/* SPDX-License-Identifier: MIT */
/*
 * Netlink: requests that are built, and what the kernel says taken apart. Its words are not
 * hostile, but kernels are of many ages: every length in them is checked, in one place for messages
 * (netlink_next) and one for attributes (netlink_attribute), and what is too short is not there.
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
	bool overfull; /* something had no room: it is never sent */
};

/* flags: besides NLM_F_REQUEST; body: the fixed part (struct ifinfomsg, rtmsg, ...). */
void netlink_begin(struct netlink_message *message, uint16_t type, uint16_t flags, const void *body,
		   size_t len);
void netlink_put(struct netlink_message *message, uint16_t type, const void *data, size_t len);
void netlink_put_u32(struct netlink_message *message, uint16_t type, uint32_t value);
void netlink_put_string(struct netlink_message *message, uint16_t type, const char *text);
/* What is put until netlink_nest_end() is inside. Returns what that is to be told. */
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

/* Takes one message off the front of a datagram: false at the end, and before one that is cut. */
bool netlink_next(struct netlink_bytes *datagram, struct netlink_reply *out);
/* The fixed part of a body, and the attributes behind it. */
bool netlink_head(struct netlink_bytes body, void *head, size_t len,
		  struct netlink_bytes *attributes);
/* The first attribute of that type, whatever flags it has. */
bool netlink_attribute(struct netlink_bytes attributes, uint16_t type, struct netlink_bytes *out);
/* Of exactly four bytes. */
bool netlink_u32(struct netlink_bytes attributes, uint16_t type, uint32_t *out);

/* --- a conversation -------------------------------------------------------------------------- */

/* What is done with each message of a dump. */
typedef int netlink_take_fn(void *data, const struct netlink_reply *reply, struct error *err);

/* One datagram of the answer to the request of that number: 1 when more is to come, 0 after its
 * end. Interrupted by a change, so that something may be missing: ERR_UNAVAILABLE and EINTR. */
int netlink_take(struct netlink_bytes datagram, uint32_t sequence, netlink_take_fn *take,
		 void *data, struct error *err);

/* protocol: NETLINK_ROUTE and the like. */
int netlink_open(int protocol, struct error *err);
/* Has it done. The message says what the kernel says: its errno and, if it has one, its sentence.
 */
int netlink_request(int fd, struct netlink_message *message, struct error *err);
int netlink_dump(int fd, struct netlink_message *message, netlink_take_fn *take, void *data,
		 struct error *err);

#endif
