/* SPDX-License-Identifier: MIT */
/* What the files of the mux share among themselves: what a stream is, what is said of it to the
 * host, and what is told to whoever holds it. */
#ifndef GUEST_MUX_PARTS_H
#define GUEST_MUX_PARTS_H

#include "guest/agent/mux.h"

enum mux_want { SAY_REQUEST = 1, SAY_RESPONSE = 2, SAY_SHUTDOWN = 4, SAY_CREDIT = 8, SAY_RST = 16 };

struct mux_stream {
	struct mux *mux;
	struct list_link link, due, wanting;
	uint32_t host_port, guest_port;
	bool open;     /* the other end has answered */
	bool over;     /* the host has forgotten it, or been told to */
	bool orphaned; /* nobody holds it: freed when all is said */
	bool full;     /* a send found no room */
	uint8_t say;   /* enum mux_want */
	uint8_t shut;  /* SHUT_ flags of ours */
	uint8_t peer_shut;
	struct buf in;
	const uint8_t *front; /* behind in: where the port was read */
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
/* Bytes that the host has room for. */
uint32_t mux_credit(const struct mux_stream *s);
bool mux_takes_bytes(const struct mux_stream *s);
/* Tells whoever holds it how it is, if that is wanted: once; where it stays so, again in the next
 * round. The stream may be gone afterwards. */
void mux_tell(struct mux_stream *s);
void mux_tell_later(struct mux_stream *s);
/* The port has room again. */
void mux_tell_room(struct mux *mux);

/* --- mux_say.c ------------------------------------------------------------------------------- */

/* Gives the port what has been put together. One that is full takes nothing of a chunk. */
void mux_write(struct mux *mux);
/* Room for one packet of len bytes, in the last chunk or a new one; NULL: there is none now. */
uint8_t *mux_reserve(struct mux *mux, size_t len);
bool mux_say_packet(struct mux *mux, const struct packet *p);
struct packet mux_packet_of(struct mux_stream *s, enum packet_op op, uint32_t flags, size_t len);
/* Says what it wants to; the rest when there is room. An orphan is gone when all is said. */
void mux_say_wanted(struct mux_stream *s);
void mux_say(struct mux_stream *s, enum mux_want want);
/* Begins anew: nothing is a packet until the answer. */
void mux_hello(struct mux *mux);

#endif
