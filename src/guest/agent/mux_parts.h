/* SPDX-License-Identifier: MIT */
/* The parts that the files of the mux share: the streams, the packets about streams for the host,
 * and the events for the holders of streams. The holder of a stream is the code that reads and
 * writes it. */
#ifndef GUEST_MUX_PARTS_H
#define GUEST_MUX_PARTS_H

#include "guest/agent/mux.h"

enum mux_want { SAY_REQUEST = 1, SAY_RESPONSE = 2, SAY_SHUTDOWN = 4, SAY_CREDIT = 8, SAY_RST = 16 };

struct mux_stream {
	struct mux *mux;
	struct list_link link, due, wanting;
	uint32_t host_port, guest_port;
	bool open;     /* the other end has answered */
	bool over;     /* the stream has ended for the host */
	bool orphaned; /* the stream has no holder, and is freed when all its packets are written */
	bool full;     /* the holder wanted to send and found no room */
	uint8_t say;   /* the packets that must be written (enum mux_want) */
	uint8_t shut;  /* SHUT_ flags of this side */
	uint8_t peer_shut;
	struct buf in;
	const uint8_t *front; /* bytes that follow those of `in`: in the buffer of the port */
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
/* Returns how many more bytes of the stream the host has room for. */
uint32_t mux_credit(const struct mux_stream *s);
bool mux_takes_bytes(const struct mux_stream *s);
/* Calls the stream's holder with the stream's state, if the holder wants an event for this state:
 * once now, and again in the next round of the loop if the state is still the same. The stream may
 * be freed afterwards. */
void mux_tell(struct mux_stream *s);
void mux_tell_later(struct mux_stream *s);
/* Tells the holders that the port has room again. */
void mux_tell_room(struct mux *mux);

/* --- mux_say.c ------------------------------------------------------------------------------- */

/* Writes the chunks to the port. The port takes a chunk as a whole; if the port is full, it takes
 * nothing of the chunk. */
void mux_write(struct mux *mux);
/* Returns room for one packet of `len` bytes, in the last chunk or a new one; NULL if there is no
 * room now. */
uint8_t *mux_reserve(struct mux *mux, size_t len);
bool mux_say_packet(struct mux *mux, const struct packet *p);
struct packet mux_packet_of(struct mux_stream *s, enum packet_op op, uint32_t flags, size_t len);
/* Writes the packets that s->say names. If there is no room, the rest is written later. Frees a
 * stream without a holder when all its packets are written. */
void mux_say_wanted(struct mux_stream *s);
void mux_say(struct mux_stream *s, enum mux_want want);
/* Begins anew with a HELLO. Bytes of the host are ignored until its WELCOME. */
void mux_hello(struct mux *mux);

#endif
