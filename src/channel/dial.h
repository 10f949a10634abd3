/* SPDX-License-Identifier: MIT */
/*
 * The dial: how a program of the host reaches a port of the guest. The program connects to
 * vsock.sock and sends CONNECT <port>\n. The answer is OK <n>\n, or the connection is closed. This
 * file has a dial that blocks and a dial on a loop. This file also has the parts of a dial, for a
 * caller that itself sends and receives the bytes (calls.h).
 */
#ifndef CHANNEL_DIAL_H
#define CHANNEL_DIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/broker.h"
#include "base/buf.h"
#include "base/connecting.h"
#include "base/error.h"

/* Returns the name of the socket in a workspace through which the guest's port is dialled:
 * AGENT_SOCK if this socket exists and leads to the port, else vsock.sock. */
const char *dial_way(int dirfd, uint32_t port);

/* Returns a connected blocking stream to a port of the guest, through <dirfd>/<dial_way()>. The
 * bytes in `first` (NULL: no bytes) are for the guest. They are sent together with the CONNECT, in
 * one write. The bytes that the socket has taken are removed from `first`. The guest gets these
 * bytes only if it accepts the connection. ERR_NOT_FOUND if there is no such socket,
 * ERR_UNAVAILABLE if no process listens on the socket or the guest refuses, ERR_TIMEOUT at the
 * deadline. */
int dial_blocking(int dirfd, uint32_t port, struct buf *first, uint64_t deadline_ns,
		  struct error *err);

struct dial;
/* Dials like dial_blocking(), but on a loop. `dirfd` must stay open until `done` is called. `first`
 * has at most DIAL_FIRST_MAX bytes, and all of them are sent. If there is a broker, the broker
 * makes the connection. */
#define DIAL_FIRST_MAX 16
struct dial *dial_on_loop(struct loop *loop, int dirfd, uint32_t port, const struct buf *first,
			  uint64_t deadline_ns, reached_fn *done, void *data, struct error *err);
extern const struct broker_duty dial_duty; /* the broker's duty for dial_on_loop(); its data is an
					    * int: `dirfd` */
void dial_free(struct dial *dial);	   /* ends the dial; accepts NULL */

/* Queues the CONNECT. */
int dial_request(struct buf *out, uint32_t port, struct error *err);
/* Returns the length of the OK line at the beginning of the bytes, with its newline. Returns 0 if
 * more bytes are needed, -1 (ERR_IO) if the bytes are not an answer to a CONNECT. Bytes behind the
 * line belong to the stream. */
int dial_answer(const void *bytes, size_t len, struct error *err);

#endif
