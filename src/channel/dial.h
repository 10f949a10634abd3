/* SPDX-License-Identifier: MIT */
/*
 * The hybrid-vsock dial: CONNECT <port>\n to vsock.sock, answered by OK <n>\n or by a close. This
 * file has a dial that blocks, a dial on a loop, and the parts that they share with the dial
 * through a queue of bytes (calls.h).
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
 * AGENT_SOCK if it exists and leads to that port, else vsock.sock. */
const char *dial_way(int dirfd, uint32_t port);

/* Returns a connected blocking stream to a port of the guest, through <dirfd>/<dial_way()>. The
 * bytes in `first` (NULL: none) are for the guest. They go with the CONNECT, in one write, and are
 * removed from `first` as far as the socket took them. The guest gets them once it has accepted,
 * and never if it refuses. ERR_NOT_FOUND without the socket, ERR_UNAVAILABLE if nothing listens on
 * it or the guest refuses, ERR_TIMEOUT. */
int dial_blocking(int dirfd, uint32_t port, struct buf *first, uint64_t deadline_ns,
		  struct error *err);

struct dial;
/* Does the same on a loop; dirfd must stay open. first has at most DIAL_FIRST_MAX bytes, which are
 * all sent. If there is a broker, it makes the connection. */
#define DIAL_FIRST_MAX 16
struct dial *dial_on_loop(struct loop *loop, int dirfd, uint32_t port, const struct buf *first,
			  uint64_t deadline_ns, reached_fn *done, void *data, struct error *err);
extern const struct broker_duty dial_duty; /* its data: an int, dirfd */
void dial_free(struct dial *dial);	   /* gives up; accepts NULL */

/* Queues the CONNECT. */
int dial_request(struct buf *out, uint32_t port, struct error *err);
/* Returns the length of the OK line at the beginning of these bytes, with its newline; 0 if more
 * bytes are needed; -1 (ERR_IO) if they are no answer to a CONNECT. Bytes after the line belong to
 * the stream. */
int dial_answer(const void *bytes, size_t len, struct error *err);

#endif
