/* SPDX-License-Identifier: MIT */
/*
 * The guest's end of vsock packets over a virtio-serial port, or over one vsock connection: streams
 * to and from the host inside the agent's own loop, where there is no vsock device or it does not
 * hand on the end of one side. base/packet.h has what goes over the port, vsockd/port.h is the other
 * end.
 *
 * A stream is a framed's (mux_carrier). Packets are put together in chunks, each of which the
 * kernel takes whole or not at all, so that what is killed within a write leaves no half of one.
 * Payload goes from where the port was read to whoever reads the stream, and is only kept if nobody
 * does; no more is ever kept than the host was told there is room for.
 */
#ifndef GUEST_MUX_H
#define GUEST_MUX_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/framed.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/packet.h"

#define MUX_CREDIT 262144 /* bytes that may stand unread in a stream */
#define MUX_CHUNKS 4
#define MUX_BUCKETS 64
#define MUX_INPUT (4 * PACKET_WHOLE)

struct mux_stream;

/* A connection of the host's: the stream is the callee's, to be closed by him. */
typedef void mux_accept_fn(void *data, struct mux_stream *stream);

struct mux_listener {
	struct list_link link;
	uint32_t port;
	mux_accept_fn *accept;
	void (*gone)(void *data); /* the mux is no more; NULL: nobody wants to know */
	void *data;
};

struct mux_chunk {
	size_t len;
	uint8_t bytes[PACKET_WHOLE];
};

struct mux {
	struct loop *loop;
	int fd;
	struct loop_watch *watch, *again, *back;
	bool wants_room; /* the port is full */
	bool linked;	 /* the host has welcomed us: packets can be told from other bytes */
	bool met;	 /* one has welcomed us before */
	bool splits;	 /* as of mux_open() */
	uint64_t number; /* of our HELLO */
	uint64_t cid;
	uint32_t next_port;
	struct list buckets[MUX_BUCKETS]; /* of streams */
	struct list listeners;
	struct list due;     /* streams that are to be told */
	struct list wanting; /* streams with something to be said for which there was no room */
	struct mux_stream *telling;
	void (*anew)(void *data); /* NULL: nobody wants to know */
	void *anew_data;
	size_t in_at, in_end;
	unsigned first_chunk, chunks;
	struct mux_chunk chunk[MUX_CHUNKS];
	uint8_t in[MUX_INPUT];
};

/* fd: the port, non-blocking; taken over. splits: it is a socket, which may take a part of what is
 * written, so that a process that was killed may have left the front of a packet. NULL on failure.
 */
struct mux *mux_open(struct loop *loop, int fd, bool splits, struct error *err);
void mux_free(struct mux *mux); /* when no stream is left that somebody holds; accepts NULL */
/* From now on tells when a host has welcomed us that is not the one of before, or knows nothing of
 * it: all streams of then are over. */
void mux_watch_host(struct mux *mux, void (*anew)(void *data), void *data);
/* The listener stays the caller's. */
void mux_listen(struct mux *mux, struct mux_listener *listener);
bool mux_listens(const struct mux *mux, uint32_t port);
/* Dials the host. fn hears LOOP_OUT when it has answered, LOOP_HUP when it has refused; the stream
 * is to be closed then. NULL: no memory. */
struct mux_stream *mux_dial(struct mux *mux, uint32_t port, loop_fd_fn *fn, void *data);

extern const struct framed_carrier mux_carrier;

#endif
