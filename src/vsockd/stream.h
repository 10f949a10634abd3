/* SPDX-License-Identifier: MIT */
/*
 * The table of streams. All streams are allocated at the start. A stream is found by its two ports,
 * and links between streams are indices. The table knows what a stream is, and core.h knows what to
 * do with one.
 */
#ifndef VSOCKD_STREAM_H
#define VSOCKD_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define STREAM_NONE UINT16_MAX
#define STREAM_TABLE_MAX 65000 /* indices are 16 bits */

/*
 * The states of a stream, and what may happen in each of them. stream_find() finds only streams in
 * the states with ports.
 */
enum stream_state {
	/* Free: in no list, without descriptor. Only the generation has a meaning. */
	STREAM_FREE,
	/* A host client's CONNECT line is awaited until a deadline. The stream has no ports and is
	 * unknown to the guest. It becomes REQUESTED, or is closed. */
	STREAM_LINE,
	/* The guest's answer to our REQUEST is awaited until a deadline. The stream has ports. The
	 * guest may only send RESPONSE or RST. The client's bytes stay in the client's socket. */
	STREAM_REQUESTED,
	/* Bytes flow. The stream has ports. Either direction may already have ended. */
	STREAM_OPEN,
	/* The host's side is closed. SHUTDOWN of both directions is sent or will be, and the
	 * guest's RST is awaited until a deadline. The stream has ports and no descriptor. Bytes of
	 * the guest are dropped. */
	STREAM_CLOSING,
	/* The guest's side is over, and its ports are free for a new stream. Bytes that the guest
	 * sent before are still to be given to the host's reader, which sets the pace. The stream
	 * has no ports. */
	STREAM_DRAINING,
	STREAM_STATE_COUNT
};

/* The three deadlines. Each kind has one duration, so a list in order of arrival is in order of
 * time too. */
enum stream_timer { TIMER_LINE, TIMER_ANSWER, TIMER_CLOSE, TIMER_COUNT, TIMER_NONE = TIMER_COUNT };

/* The control packets that the guest is to get. */
enum stream_want {
	WANT_REQUEST = 1,
	WANT_RESPONSE = 2,
	WANT_CREDIT = 4, /* tell the guest fwd_cnt: it asked, or much has changed */
	WANT_ASK = 8,	 /* ask the guest for credit */
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
	uint8_t timer;	    /* the timer list that the stream is in */
	uint8_t guest_shut; /* SHUT_ flags the guest has sent */
	uint8_t told_shut;  /* SHUT_ flags the guest has been sent */
	bool named : 1;	    /* the table finds it by its ports */
	bool known : 1;	    /* the guest knows the stream, so the guest must be told when it ends */
	bool readable : 1;  /* the host's socket may have bytes, or its end */
	bool hung_up : 1;   /* the peer has shut down: read on to the end, no event tells of it */
	bool host_eof : 1;  /* the host sends no more, and all it sent has been read */
	bool host_gone : 1; /* the host takes no more */
	bool host_shut : 1; /* we have told the host that the guest sends no more */
	bool bulk : 1;	    /* the last read filled its room, so the next may be larger */
	bool asked : 1;	    /* credit was asked for and none has come since */
	bool queued : 1;    /* in the list of streams with something for the guest */
	bool armed : 1;	    /* EPOLLOUT is watched */
	bool client : 1;    /* the host began it; counted in clients */
	bool touched : 1;   /* its buffer has been used and may hold memory */
	/* Bytes from the guest. rx_cnt - fwd_cnt bytes are in the buffer, from fwd_cnt modulo its
	 * size on. */
	uint32_t rx_cnt;  /* bytes the guest has sent */
	uint32_t fwd_cnt; /* bytes of rx_cnt that were given to the host's socket, or dropped */
	uint32_t told;	  /* the value of fwd_cnt that the guest knows */
	/* Bytes to the guest. */
	uint32_t tx_cnt;     /* bytes we have sent */
	uint32_t peer_fwd;   /* bytes of tx_cnt that the guest's application has taken */
	uint32_t peer_alloc; /* bytes of buffer that the guest has for the stream */
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
	uint32_t buffer_bytes; /* bytes of one stream's buffer; a power of two */
	unsigned capacity;
	unsigned bucket_mask;
	unsigned fresh;	    /* the first entry never used: its page and later ones are untouched */
	uint16_t free_head; /* entries that were used and released, linked by hash_next */
	unsigned used;
	unsigned clients; /* streams in use that the host began and whose line has come */
	struct list ready;
	struct list timers[TIMER_COUNT];
};

/* Allocates the table. capacity is at most STREAM_TABLE_MAX. */
int stream_table_init(struct stream_table *t, unsigned capacity, uint32_t buffer_bytes,
		      struct error *err);
void stream_table_free(struct stream_table *t); /* closes no descriptors */

/* Returns a stream without ports in the state LINE; NULL if all streams are in use. */
struct stream *stream_alloc(struct stream_table *t);
/* Removes the stream from all lists, closes its descriptor and releases the memory of its
 * buffer. */
void stream_release(struct stream_table *t, struct stream *s);

static inline uint16_t stream_index(const struct stream_table *t, const struct stream *s)
{
	return (uint16_t)(s - t->streams);
}
static inline uint8_t *stream_buffer(const struct stream_table *t, const struct stream *s)
{
	return t->buffers + (uint64_t)stream_index(t, s) * t->buffer_bytes;
}
/* Returns how many bytes of the guest the host has not taken yet. */
static inline uint32_t stream_buffered(const struct stream *s)
{
	return s->rx_cnt - s->fwd_cnt;
}

struct stream *stream_find(const struct stream_table *t, uint32_t host_port, uint32_t guest_port);
void stream_name(struct stream_table *t, struct stream *s, uint32_t host_port, uint32_t guest_port);
void stream_unname(struct stream_table *t, struct stream *s);

void stream_queue(struct stream_table *t, struct stream *s);
void stream_unqueue(struct stream_table *t, struct stream *s);
/* Moves the stream to the end of that timer's list; TIMER_NONE removes it from any list. */
void stream_set_timer(struct stream_table *t, struct stream *s, enum stream_timer which,
		      uint64_t deadline);

#endif
