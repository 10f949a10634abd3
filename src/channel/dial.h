/* SPDX-License-Identifier: MIT */
/*
 * The hybrid-vsock dial: CONNECT <port>\n to vsock.sock, answered OK <n>\n or by a close. Here is
 * the one who waits for it, the one who has a loop, and what they share with the one who has a
 * queue of bytes (calls.h).
 */
#ifndef CHANNEL_DIAL_H
#define CHANNEL_DIAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/broker.h"
#include "base/buf.h"
#include "base/connecting.h"
#include "base/error.h"

/* The name in a workspace of the socket by which the guest's port is dialled: AGENT_SOCK where there
 * is one and it leads to that port, else vsock.sock. */
const char *dial_way(int dirfd, uint32_t port);

/* A connected blocking stream to guest port, through <dirfd>/<dial_way()>. What the guest is to hear
 * first goes with the CONNECT, in one write, and is taken out of `first` (NULL: nothing) as far as
 * the socket took it; the guest gets it once it has accepted, and never where it refuses.
 * ERR_NOT_FOUND without the socket, ERR_UNAVAILABLE when nothing listens on it or the guest
 * refuses, ERR_TIMEOUT. */
int dial_blocking(int dirfd, uint32_t port, struct buf *first, uint64_t deadline_ns,
		  struct error *err);

struct dial;
/* The same on a loop; dirfd must stay open. first: DIAL_FIRST_MAX at most, and sent whole. Where
 * there is a broker that makes the connection. */
#define DIAL_FIRST_MAX 16
struct dial *dial_on_loop(struct loop *loop, int dirfd, uint32_t port, const struct buf *first,
			  uint64_t deadline_ns, reached_fn *done, void *data, struct error *err);
extern const struct broker_duty dial_duty; /* its data: an int, dirfd */
void dial_free(struct dial *dial);	   /* gives up; accepts NULL */

/* Queues the CONNECT. */
int dial_request(struct buf *out, uint32_t port, struct error *err);
/* How long the OK line is with which these bytes begin, its end included; 0: more is needed; -1
 * (ERR_IO): they are no answer to a CONNECT. What follows the line belongs to the stream. */
int dial_answer(const void *bytes, size_t len, struct error *err);

#endif
