/* SPDX-License-Identifier: MIT */
/*
 * A stream socket with queues: the connections to port 2222 and the control stream. Owners put
 * bytes into `out` and call wire_flush(); what arrives is in `in`.
 *
 * A peer may close one direction (it sends no more, but reads the answers) or both (it is gone, and
 * nobody wants its commands any more). Both look alike to epoll on a vsock socket; an empty send
 * tells them apart. The owner is only ever called from the loop.
 */
#ifndef GUEST_WIRE_H
#define GUEST_WIRE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/loop.h"

struct wire_owner {
	/* More is in `in`, or the peer sends no more (ended). */
	void (*input)(void *data);
	/* `out` has become empty, or shorter than half of LIMIT_AGENT_QUEUE_BYTES after it was
	 * longer than all of it. */
	void (*drained)(void *data);
	/* The peer is gone; the last call. why is for people. */
	void (*lost)(void *data, const char *why);
};

struct wire {
	struct loop *loop;
	int fd; /* -1: closed */
	struct loop_watch *watch, *failure;
	uint32_t events; /* as registered */
	struct buf in, out;
	bool reading; /* the owner wants input */
	bool ended;   /* the peer sends no more */
	bool full;    /* out was above the limit and is not yet below half of it */
	const struct wire_owner *owner;
	void *data;
};

/* Takes over fd (a connected stream socket). */
int wire_open(struct wire *wire, struct loop *loop, int fd, const struct wire_owner *owner,
	      void *data, struct error *err);
void wire_close(struct wire *wire); /* at once; accepts a closed one */
/* Sends what the socket takes now; the rest follows by itself. */
void wire_flush(struct wire *wire);
/* Queues a frame, or a line, and flushes. */
int wire_send_frame(struct wire *wire, const char *text, struct error *err);
int wire_send_line(struct wire *wire, const char *text, struct error *err);
/* Off: input stays in the socket and the peer has to wait. Its going away is noticed all the same.
 */
void wire_set_reading(struct wire *wire, bool on);
/* No more may be queued for now. */
static inline bool wire_is_full(const struct wire *wire)
{
	return wire->full;
}

#endif
