/* SPDX-License-Identifier: MIT */
/*
 * The guest's end of vsock packets over a virtio-serial port, or over one vsock connection. The mux
 * carries streams to and from the host in the agent's own loop. It is used if there is no vsock
 * device. It is also used if the device does not pass on that one side of a connection has ended.
 * base/packet.h has the protocol; vsockd/port.h is the host's end.
 *
 * A framed connection uses a stream through mux_carrier. Packets are collected in chunks. The
 * kernel takes a chunk as a whole or not at all, so a process that is killed during a write leaves
 * no half packet. Payload goes from the buffer of the port directly to the stream's reader. The mux
 * stores payload only if there is no reader, and never more than the room that it has promised to
 * the host.
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

#define MUX_CREDIT 262144 /* the most bytes of one stream that the mux holds unread */
#define MUX_CHUNKS 4
#define MUX_BUCKETS 64
#define MUX_INPUT (4 * PACKET_WHOLE)

struct mux_stream;

/* Takes a connection that the host has made. The function that is called owns the stream and must
 * close it. */
typedef void mux_accept_fn(void *data, struct mux_stream *stream);

struct mux_listener {
	struct list_link link;
	uint32_t port;
	mux_accept_fn *accept;
	/* Called when the mux is gone; NULL: the listener need not know. */
	void (*gone)(void *data);
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
	bool wants_room; /* the port is full, and the mux waits for room in it */
	bool linked;	 /* the host has welcomed the agent, so packets are recognized */
	bool met;	 /* a host has welcomed the agent at least once */
	bool splits;	 /* the argument `splits` of mux_open() */
	uint64_t number; /* the number in the agent's last HELLO */
	uint64_t cid;
	uint32_t next_port;
	struct list buckets[MUX_BUCKETS]; /* a hash table of all streams */
	struct list listeners;
	struct list due;     /* streams whose holders must be told about an event */
	struct list wanting; /* streams whose packets found no room in the port */
	struct mux_stream *telling;
	void (*anew)(void *data); /* the function of mux_watch_host(); NULL: there is none */
	void *anew_data;
	size_t in_at, in_end;
	unsigned first_chunk, chunks;
	struct mux_chunk chunk[MUX_CHUNKS];
	uint8_t in[MUX_INPUT];
};

/* Opens a mux. Takes over `fd`, which is the port and non-blocking. `splits` is true if `fd` is a
 * socket. A socket may take only a part of a write, so a process that was killed may have left the
 * front of a packet in it. Returns NULL on failure. */
struct mux *mux_open(struct loop *loop, int fd, bool splits, struct error *err);
/* Frees the mux. Must be called only when the code that uses the streams has closed all of them.
 * Accepts NULL. */
void mux_free(struct mux *mux);
/* Sets the function anew(). It is called when a host welcomes the agent and does not know the
 * agent's earlier streams, for example because it is a new host. All earlier streams have ended
 * then. */
void mux_watch_host(struct mux *mux, void (*anew)(void *data), void *data);
/* Adds a listener to the mux. The caller owns the listener. */
void mux_listen(struct mux *mux, struct mux_listener *listener);
bool mux_listens(const struct mux *mux, uint32_t port);
/* Dials the host. `fn` is called with LOOP_OUT when the host has accepted, or with LOOP_HUP when
 * the host has refused. The caller then closes the stream. Returns NULL if there is no memory. */
struct mux_stream *mux_dial(struct mux *mux, uint32_t port, loop_fd_fn *fn, void *data);

extern const struct framed_carrier mux_carrier;

#endif
