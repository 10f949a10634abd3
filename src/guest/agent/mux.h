/* SPDX-License-Identifier: MIT */
/*
 * The guest's end of vsock packets over a virtio-serial port, or over one vsock connection. The mux
 * carries streams between the agent and the host, in the agent's own event loop. The agent uses the
 * mux if there is no vsock device. The agent also uses the mux if the device does not pass on that
 * one side of a connection was shut down. base/packet.h has the protocol; vsockd/port.h has the
 * host's end of the mux.
 *
 * A framed connection uses a stream through mux_carrier. Packets are collected in chunks. A
 * virtio-serial port takes a whole chunk or nothing of it, so a process that is killed during a
 * write leaves no incomplete packet. Payload goes from the buffer of the port directly to the
 * reader of the stream. The mux stores payload only if the reader does not read, and never more
 * than the credit that it has given to the host.
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

#define MUX_CREDIT 262144 /* the most unread bytes of one stream that the mux stores */
#define MUX_CHUNKS 4
#define MUX_BUCKETS 64
#define MUX_INPUT (4 * PACKET_WHOLE)

struct mux_stream;

/* Called with a stream that the host has opened. The function takes ownership of the stream and
 * must close it. */
typedef void mux_accept_fn(void *data, struct mux_stream *stream);

struct mux_listener {
	struct list_link link;
	uint32_t port;
	mux_accept_fn *accept;
	/* Called when the mux was freed. NULL if the listener need not know that. */
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
	bool wants_room; /* the port is full, and the mux waits until the port has room */
	bool linked;	 /* the host has sent WELCOME, so packets are recognized */
	bool met;	 /* a host has sent WELCOME at least once */
	bool splits;	 /* `fd` is a socket (the argument `splits` of mux_open()) */
	uint64_t number; /* the random number in the agent's last HELLO */
	uint64_t cid;
	uint32_t next_port;
	struct list buckets[MUX_BUCKETS]; /* a hash table of all streams */
	struct list listeners;
	struct list due;     /* streams with an event that their holders do not know yet */
	struct list wanting; /* streams whose packets had no room in the port */
	struct mux_stream *telling;
	void (*anew)(void *data); /* the function that mux_watch_host() has set; NULL: none */
	void *anew_data;
	size_t in_at, in_end;
	unsigned first_chunk, chunks;
	struct mux_chunk chunk[MUX_CHUNKS];
	uint8_t in[MUX_INPUT];
};

/* Opens a mux on `fd`, which is a non-blocking virtio-serial port or socket. Takes ownership of
 * `fd`. `splits` is true if `fd` is a socket. A socket may take only a part of a write, so a
 * process that was killed may have sent only the first bytes of a packet. Returns NULL with err set
 * on failure. */
struct mux *mux_open(struct loop *loop, int fd, bool splits, struct error *err);
/* Frees the mux. The code that uses the streams must have closed all of them before. Accepts
 * NULL. */
void mux_free(struct mux *mux);
/* Sets the function anew(). The mux calls anew() each time that the protocol was begun again, for
 * example because a new process of the host serves the machine. All earlier streams have ended
 * then. */
void mux_watch_host(struct mux *mux, void (*anew)(void *data), void *data);
/* Adds a listener to the mux. The caller owns the listener. */
void mux_listen(struct mux *mux, struct mux_listener *listener);
bool mux_listens(const struct mux *mux, uint32_t port);
/* Opens a stream to the host. The mux calls fn() with LOOP_OUT when the host has accepted the
 * stream. The mux calls fn() with LOOP_HUP when the host has refused, and the caller must then
 * close the stream. Returns NULL if there is no memory. */
struct mux_stream *mux_dial(struct mux *mux, uint32_t port, loop_fd_fn *fn, void *data);

extern const struct framed_carrier mux_carrier;

#endif
