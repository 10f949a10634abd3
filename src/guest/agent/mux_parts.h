/* SPDX-License-Identifier: MIT */
/* Declarations that several files of the mux use. The declarations are about streams, packets for
 * the host, and events for the holders of streams. The holder of a stream is the code that reads
 * from the stream and writes to it. */
#ifndef GUEST_MUX_PARTS_H
#define GUEST_MUX_PARTS_H

#include "guest/agent/mux.h"

enum mux_want { SAY_REQUEST = 1, SAY_RESPONSE = 2, SAY_SHUTDOWN = 4, SAY_CREDIT = 8, SAY_RST = 16 };

struct mux_stream {
	struct mux *mux;
	struct list_link link, due, wanting;
	uint32_t host_port, guest_port;
	bool open; /* the host has accepted the stream, or has opened it */
	bool over; /* the host has ended the stream, and sends no more */
	/* The holder has closed the stream, which is freed when all its packets are written. */
	bool orphaned;
	bool full; /* the holder wanted to send, and there was no room in the port */
	/* The packets of this stream that must be written, as bits of enum mux_want. */
	uint8_t say;
	uint8_t shut; /* the directions that the guest has shut down, as SHUT_ flags */
	uint8_t peer_shut;
	struct buf in;
	/* Bytes of the stream that come after those of `in`, and are still in the buffer of the
	 * port. */
	const uint8_t *front;
	size_t front_len;
	uint32_t rx_cnt, fwd_cnt, told, tx_cnt, peer_fwd, peer_alloc;
	uint32_t events;
	loop_fd_fn *fn;
	void *data;
};

/* --- mux_stream.c ---------------------------------------------------------------------------- */

struct mux_stream *mux_find(struct mux *mux, uint32_t host_port, uint32_t guest_port);
struct mux_stream *mux_stream_new(struct mux *mux, uint32_t host_port, uint32_t guest_port);
void mux_stream_free(struct mux_stream *s);
/* Returns how many further bytes of this stream the host has room for. */
uint32_t mux_credit(const struct mux_stream *s);
bool mux_takes_bytes(const struct mux_stream *s);
/* Calls the stream's holder if the stream's state is an event that the holder wants. Calls the
 * holder again in the next round of the event loop if the state has not changed. The holder may
 * free the stream during the call. */
void mux_tell(struct mux_stream *s);
void mux_tell_later(struct mux_stream *s);
/* Called when the port has room again. Writes the packets that had no room, and tells the holders
 * of streams that they may send. */
void mux_tell_room(struct mux *mux);

/* --- mux_say.c ------------------------------------------------------------------------------- */

/* Writes the chunks to the host. A virtio-serial port takes a whole chunk, or nothing of it if the
 * port is full. */
void mux_write(struct mux *mux);
/* Returns memory for one packet of `len` bytes, in the last chunk or in a new chunk. Returns NULL
 * if there is no room at present. */
uint8_t *mux_reserve(struct mux *mux, size_t len);
bool mux_say_packet(struct mux *mux, const struct packet *p);
struct packet mux_packet_of(struct mux_stream *s, enum packet_op op, uint32_t flags, size_t len);
/* Writes the packets of the kinds in s->say. Packets that have no room now are written later. Frees
 * a stream without a holder when all its packets are written. */
void mux_say_wanted(struct mux_stream *s);
void mux_say(struct mux_stream *s, enum mux_want want);
/* Begins the protocol anew with a HELLO. Ignores the bytes that the host sends before its
 * WELCOME. */
void mux_hello(struct mux *mux);

#endif
