/* SPDX-License-Identifier: MIT */
/*
 * The guest's end of vsock packets over a virtio-serial port, or over one vsock connection. The mux
 * carries streams to and from the host in the agent's own loop. It is used if there is no vsock
 * device, or if the device does not pass on that one side of a connection has ended. base/packet.h
 * has the protocol; vsockd/port.h is the host's end.
 *
 * A framed connection uses a stream through mux_carrier. Packets are collected in chunks. The
 * kernel takes a chunk as a whole or not at all, so a process that is killed during a write leaves
 * no half packet. Payload goes from the buffer of the port directly to the stream's reader, and is
 * stored only if there is no reader. The stored bytes are never more than the room that was
 * promised to the host.
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

#define MUX_CREDIT 262144 /* the most unread bytes of a stream */
#define MUX_CHUNKS 4
#define MUX_BUCKETS 64
#define MUX_INPUT (4 * PACKET_WHOLE)

struct mux_stream;

/* Takes a connection of the host. The called function owns the stream and must close it. */
typedef void mux_accept_fn(void *data, struct mux_stream *stream);

struct mux_listener {
	struct list_link link;
	uint32_t port;
	mux_accept_fn *accept;
	void (*gone)(void *data); /* called when the mux is gone; NULL: not needed */
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
	bool wants_room; /* the port is full, and the mux waits until it takes more */
	bool linked;	 /* the host has welcomed the agent: packets are recognized */
	bool met;	 /* a host has welcomed the agent before */
	bool splits;	 /* as in mux_open() */
	uint64_t number; /* the number in the agent's last HELLO */
	uint64_t cid;
	uint32_t next_port;
	struct list buckets[MUX_BUCKETS]; /* the hash table of all streams */
	struct list listeners;
	struct list due;     /* streams whose holders must be told of an event */
	struct list wanting; /* streams with packets for which the port had no room */
	struct mux_stream *telling;
	void (*anew)(void *data); /* NULL: not needed */
	void *anew_data;
	size_t in_at, in_end;
	unsigned first_chunk, chunks;
	struct mux_chunk chunk[MUX_CHUNKS];
	uint8_t in[MUX_INPUT];
};

/* Opens a mux. `fd` is the port, non-blocking; it is taken over. `splits` is true if `fd` is a
 * socket: a socket may take only a part of a write, so a process that was killed may have left the
 * front of a packet in it. Returns NULL on failure. */
struct mux *mux_open(struct loop *loop, int fd, bool splits, struct error *err);
/* Must be called only when no stream has a holder any more; accepts NULL. */
void mux_free(struct mux *mux);
/* Sets the function anew(), which is called when a host welcomes the agent and does not know the
 * agent's earlier streams, for example since it is another host. All earlier streams have ended
 * then. */
void mux_watch_host(struct mux *mux, void (*anew)(void *data), void *data);
/* Adds a listener, which the caller keeps. */
void mux_listen(struct mux *mux, struct mux_listener *listener);
bool mux_listens(const struct mux *mux, uint32_t port);
/* Dials the host. `fn` is called with LOOP_OUT when the host has answered, and with LOOP_HUP when
 * it has refused; the caller then closes the stream. Returns NULL without memory. */
struct mux_stream *mux_dial(struct mux *mux, uint32_t port, loop_fd_fn *fn, void *data);

extern const struct framed_carrier mux_carrier;

#endif
