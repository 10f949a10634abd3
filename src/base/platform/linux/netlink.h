/* SPDX-License-Identifier: MIT */
/*
 * Netlink: makes requests, and reads the kernel's answers. The kernel is not hostile, but it has
 * many versions. So netlink_next() checks the length of every message in an answer, and
 * netlink_attribute() checks the length of every attribute. A message or attribute that is too
 * short is treated as absent.
 *
 * Requests and answers are about the network namespace in which the socket was opened.
 */
#ifndef BASE_PLATFORM_LINUX_NETLINK_H
#define BASE_PLATFORM_LINUX_NETLINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* --- requests -------------------------------------------------------------------------------- */

#define NETLINK_MESSAGE_BYTES 512

struct netlink_message {
	uint8_t bytes[NETLINK_MESSAGE_BYTES] __attribute__((aligned(4)));
	size_t len;
	bool overfull; /* the message had no room for some data, so it must not be sent */
};

/* Begins a message with the given flags and NLM_F_REQUEST. `body` is the header that belongs to the
 * type of message (struct ifinfomsg, struct rtmsg, ...). */
void netlink_begin(struct netlink_message *message, uint16_t type, uint16_t flags, const void *body,
		   size_t len);
void netlink_put(struct netlink_message *message, uint16_t type, const void *data, size_t len);
void netlink_put_u32(struct netlink_message *message, uint16_t type, uint32_t value);
void netlink_put_string(struct netlink_message *message, uint16_t type, const char *text);
/* Begins a nested attribute: everything that is put into the message before netlink_nest_end()
 * becomes a part of this attribute. Returns the value that netlink_nest_end() needs as `nest`. */
size_t netlink_nest(struct netlink_message *message, uint16_t type);
void netlink_nest_end(struct netlink_message *message, size_t nest);

/* --- answers --------------------------------------------------------------------------------- */

struct netlink_bytes {
	const uint8_t *data;
	size_t len;
};

struct netlink_reply {
	uint16_t type, flags;
	uint32_t sequence;
	struct netlink_bytes body;
};

/* Copies the first message of `datagram` to *out, and removes it from `datagram`. Returns false at
 * the end of the datagram, and if the next message is not complete. */
bool netlink_next(struct netlink_bytes *datagram, struct netlink_reply *out);
/* Copies the first `len` bytes of a body, its header, to `head`. Sets *attributes to the bytes
 * after the header, which are the attributes. Returns false if the body is shorter than the
 * header. */
bool netlink_head(struct netlink_bytes body, void *head, size_t len,
		  struct netlink_bytes *attributes);
/* Finds the first attribute of the given type, with any flags, and stores its value in *out.
 * Returns false if there is no such attribute. */
bool netlink_attribute(struct netlink_bytes attributes, uint16_t type, struct netlink_bytes *out);
/* Reads an attribute of exactly four bytes. Returns false if there is no such attribute, or if it
 * has another length. */
bool netlink_u32(struct netlink_bytes attributes, uint16_t type, uint32_t *out);

/* --- requests with their answers -------------------------------------------------------------- */

/* A function that is called with each message of a dump. */
typedef int netlink_take_fn(void *data, const struct netlink_reply *reply, struct error *err);

/* Reads one datagram of the answer to the request with the number `sequence`. Returns 1 if more
 * datagrams will follow, 0 if this was the last datagram, -1 on failure. ERR_UNAVAILABLE with
 * errnum EINTR: the kernel's data have changed during the dump, so entries may be missing. */
int netlink_take(struct netlink_bytes datagram, uint32_t sequence, netlink_take_fn *take,
		 void *data, struct error *err);

/* Opens a netlink socket. `protocol` is, for example, NETLINK_ROUTE. Returns the descriptor, or -1
 * with an error. */
int netlink_open(int protocol, struct error *err);
/* Sends a request and waits for its result. If the kernel refuses the request, the error has the
 * kernel's error number, and the kernel's text if there is one. */
int netlink_request(int fd, struct netlink_message *message, struct error *err);
/* Sends a request for a dump, and calls take() with each message of the answer. */
int netlink_dump(int fd, struct netlink_message *message, netlink_take_fn *take, void *data,
		 struct error *err);

#endif
