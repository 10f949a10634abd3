/* SPDX-License-Identifier: MIT */
/*
 * The table of streams: all of it made at the start, found by its two ports, counted in links that
 * are indices. It knows what a stream is, not what is done with one (core.h).
 */
#ifndef VSOCKD_STREAM_H
#define VSOCKD_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define STREAM_NONE UINT16_MAX
#define STREAM_TABLE_MAX 65000 /* indices are 16 bits */

/*
 * What may happen in each state. Only the states with ports are found by stream_find().
 */
enum stream_state {
	/* In no list, without descriptor; only the generation means something. */
	STREAM_FREE,
	/* A host client's CONNECT line is awaited until a deadline. No ports, unknown to the guest.
	 * Leaves for REQUESTED, or is closed. */
	STREAM_LINE,
	/* The guest's answer to our REQUEST is awaited until a deadline. Ports. The guest may only
	 * send RESPONSE or RST. Client bytes stay in the client's socket. */
	STREAM_REQUESTED,
	/* Bytes flow. Ports. Either direction may already have ended. */
	STREAM_OPEN,
	/* The host's side is closed, SHUTDOWN of both directions is or will be sent, and the
	 * guest's RST is awaited until a deadline. Ports, no descriptor. Bytes of the guest are
	 * dropped. */
	STREAM_CLOSING,
	/* The guest's side is over and its ports are free for a new stream, but bytes it sent
	 * before are still to be given to the host's reader, whose own pace this is. No ports. */
	STREAM_DRAINING,
	STREAM_STATE_COUNT
};

/* The three deadlines. Each has one duration, so a list in order of arrival is in order of time. */
enum stream_timer { TIMER_LINE, TIMER_ANSWER, TIMER_CLOSE, TIMER_COUNT, TIMER_NONE = TIMER_COUNT };

/* Control packets that the guest is to get. */
enum stream_want {
	WANT_REQUEST = 1,
	WANT_RESPONSE = 2,
	WANT_CREDIT = 4, /* it must be told fwd_cnt: it asked, or much has changed */
	WANT_ASK = 8,	 /* it must be asked for credit */
};

struct link {
	uint16_t prev;
	uint16_t next;
};

struct stream {
	int fd;
	uint32_t host_port;
	uint32_t guest_port;
	uint16_t generation;
	uint8_t state;	    /* enum stream_state */
	uint8_t want;	    /* enum stream_want */
	uint8_t timer;	    /* the list it is in */
	uint8_t guest_shut; /* SHUT_ flags the guest has sent */
	uint8_t told_shut;  /* SHUT_ flags the guest has been sent */
	bool named : 1;	    /* found by its ports */
	bool known : 1;	    /* the guest has heard of it: ending it takes a word to the guest */
	bool readable : 1;  /* the host's socket may have bytes, or its end */
	bool hung_up : 1;   /* the peer has shut down: read on to the end, no event will tell it */
	bool host_eof : 1;  /* the host sends no more, and all it sent has been read */
	bool host_gone : 1; /* the host takes no more */
	bool host_shut : 1; /* we have told the host that the guest sends no more */
	bool bulk : 1;	    /* the last read filled its room: the next may be larger */
	bool asked : 1;	    /* credit was asked for and none has come since */
	bool queued : 1;    /* in the list of streams with something for the guest */
	bool armed : 1;	    /* EPOLLOUT is watched */
	bool client : 1;    /* the host began it; counted in clients */
	bool touched : 1;   /* its buffer has been used and may hold memory */
	/* From the guest. rx_cnt - fwd_cnt bytes stand in the buffer, from fwd_cnt modulo its size.
	 */
	uint32_t rx_cnt;  /* bytes the guest has sent */
	uint32_t fwd_cnt; /* of these, given to the host's socket (or dropped) */
	uint32_t told;	  /* fwd_cnt as the guest knows it */
	/* To the guest. */
	uint32_t tx_cnt;     /* bytes we have sent */
	uint32_t peer_fwd;   /* of these, taken by the guest's application */
	uint32_t peer_alloc; /* bytes the guest sets aside */
	uint16_t hash_next;
	struct link ready;
	struct link timing;
	uint64_t deadline; /* ns, monotonic */
};

struct list {
	uint16_t head;
	uint16_t tail;
};

struct stream_table {
	struct stream *streams;
	uint16_t *buckets;
	uint8_t *buffers;      /* of all streams, side by side; untouched pages cost nothing */
	uint32_t buffer_bytes; /* of one stream; a power of two */
	unsigned capacity;
	unsigned bucket_mask;
	unsigned fresh;	    /* entries never used yet start here: their pages stay untouched */
	uint16_t free_head; /* used and released entries, by hash_next */
	unsigned used;
	unsigned clients; /* of these, begun by the host, and their line has come */
	struct list ready;
	struct list timers[TIMER_COUNT];
};

/* capacity at most STREAM_TABLE_MAX. */
int stream_table_init(struct stream_table *t, unsigned capacity, uint32_t buffer_bytes,
		      struct error *err);
void stream_table_free(struct stream_table *t); /* closes no descriptors */

/* A stream without ports in the state LINE, or NULL when all are in use. */
struct stream *stream_alloc(struct stream_table *t);
/* Takes it out of everything, closes its descriptor, gives its buffer's memory back. */
void stream_release(struct stream_table *t, struct stream *s);

static inline uint16_t stream_index(const struct stream_table *t, const struct stream *s)
{
	return (uint16_t)(s - t->streams);
}
static inline uint8_t *stream_buffer(const struct stream_table *t, const struct stream *s)
{
	return t->buffers + (uint64_t)stream_index(t, s) * t->buffer_bytes;
}
/* Bytes of the guest that the host has not taken yet. */
static inline uint32_t stream_buffered(const struct stream *s)
{
	return s->rx_cnt - s->fwd_cnt;
}

struct stream *stream_find(const struct stream_table *t, uint32_t host_port, uint32_t guest_port);
void stream_name(struct stream_table *t, struct stream *s, uint32_t host_port, uint32_t guest_port);
void stream_unname(struct stream_table *t, struct stream *s);

void stream_queue(struct stream_table *t, struct stream *s);
void stream_unqueue(struct stream_table *t, struct stream *s);
/* Moves it to the end of that timer's list (TIMER_NONE: out of any). */
void stream_set_timer(struct stream_table *t, struct stream *s, enum stream_timer which,
		      uint64_t deadline);

#endif
