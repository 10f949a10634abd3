/* SPDX-License-Identifier: MIT */
/*
 * The table of streams. All streams are allocated at the start. A stream is found by its two ports.
 * Streams are linked by their indices in the table. The table only stores streams; the core
 * (core.h) decides what happens to them.
 */
#ifndef VSOCKD_STREAM_H
#define VSOCKD_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define STREAM_NONE UINT16_MAX
#define STREAM_TABLE_MAX 65000 /* the most streams of a table, since indices have 16 bits */

/*
 * The states of a stream, and the events that are possible in each state. stream_find() finds only
 * streams in the states with ports.
 */
enum stream_state {
	/* The entry is free: it is in no list and has no descriptor. Only its generation is used.
	 */
	STREAM_FREE,
	/* A host client has connected, and its CONNECT line is awaited until a deadline. The stream
	 * has no ports, and the guest does not know the stream. The stream becomes REQUESTED, or is
	 * closed. */
	STREAM_LINE,
	/* The guest's answer to a REQUEST is awaited until a deadline. The stream has ports. The
	 * guest may only send RESPONSE or RST. The client's bytes stay in the client's socket. */
	STREAM_REQUESTED,
	/* The stream is open, and bytes flow. The stream has ports. Either direction may already
	 * have ended. */
	STREAM_OPEN,
	/* The host's side is closed. A SHUTDOWN of both directions is sent or waits to be sent, and
	 * the guest's RST is awaited until a deadline. The stream has ports and no descriptor.
	 * Bytes of the guest are dropped. */
	STREAM_CLOSING,
	/* The guest's side is over. The stream has no ports any more, so a new stream may have
	 * them. Bytes that the guest sent before are still written to the host's socket, as fast as
	 * the host reads them. */
	STREAM_DRAINING,
	STREAM_STATE_COUNT
};

/* The three kinds of deadlines. All deadlines of one kind have the same duration, so a list of them
 * in the order in which they were set is also in the order in which they end. */
enum stream_timer { TIMER_LINE, TIMER_ANSWER, TIMER_CLOSE, TIMER_COUNT, TIMER_NONE = TIMER_COUNT };

/* The control packets that must be sent to the guest. */
enum stream_want {
	WANT_REQUEST = 1,
	WANT_RESPONSE = 2,
	/* A packet that tells the guest fwd_cnt. The packet is due if the guest has asked for it,
	 * or if the host has taken many bytes since the last such packet. */
	WANT_CREDIT = 4,
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
	uint8_t timer;	    /* enum stream_timer: the timer list that the stream is in */
	uint8_t guest_shut; /* the SHUT_ flags that the guest has sent */
	uint8_t told_shut;  /* the SHUT_ flags that were sent to the guest */
	bool named : 1;	    /* the table finds the stream by its ports */
	/* The guest knows the stream, so the guest must be told when the stream ends. */
	bool known : 1;
	bool readable : 1; /* the host's socket may have bytes to read, or may be at its end */
	/* The host's end has shut down. The host's socket must be read until its end, since no
	 * further event will come. */
	bool hung_up : 1;
	bool host_eof : 1;  /* the host sends no more, and all its bytes were read */
	bool host_gone : 1; /* the host takes no more bytes */
	bool host_shut : 1; /* the host was told that the guest sends no more */
	/* The last read has filled its room, so the next read gets more room. */
	bool bulk : 1;
	/* The guest was asked for credit, and has not answered yet. */
	bool asked : 1;
	/* The stream is in the list of streams that have something for the guest. */
	bool queued : 1;
	bool armed : 1; /* EPOLLOUT is watched for the host's socket */
	/* A host client has requested the stream, so the stream is counted in `clients`. */
	bool client : 1;
	bool touched : 1; /* the stream's buffer was used, so it may have memory */
	/* Counts of bytes from the guest. The buffer has rx_cnt - fwd_cnt bytes. These bytes begin
	 * at the offset fwd_cnt modulo the size of the buffer. */
	uint32_t rx_cnt; /* the number of bytes that the guest has sent */
	/* How many of the rx_cnt bytes were given to the host's socket, or dropped. */
	uint32_t fwd_cnt;
	uint32_t told; /* the value of fwd_cnt that the guest was last told */
	/* Counts of bytes to the guest. */
	uint32_t tx_cnt;     /* the number of bytes that were sent to the guest */
	uint32_t peer_fwd;   /* how many of the tx_cnt bytes the guest's application has taken */
	uint32_t peer_alloc; /* the size in bytes of the guest's buffer for the stream */
	uint16_t hash_next;
	struct link ready;
	struct link timing;
	uint64_t deadline; /* the monotonic time in ns at which the timer ends */
};

struct list {
	uint16_t head;
	uint16_t tail;
};

struct stream_table {
	struct stream *streams;
	uint16_t *buckets;
	/* The buffers of all streams. Pages that were never written need no memory. */
	uint8_t *buffers;
	uint32_t buffer_bytes; /* the size of one stream's buffer in bytes; a power of two */
	unsigned capacity;
	unsigned bucket_mask;
	/* The index of the first entry that was never used. All later entries were never used
	 * either. */
	unsigned fresh;
	/* The first entry of the list of entries that were used and released. The list is linked by
	 * hash_next. */
	uint16_t free_head;
	unsigned used;
	unsigned clients; /* the number of streams that host clients have requested */
	struct list ready;
	struct list timers[TIMER_COUNT];
};

/* Allocates the table. `capacity` is at most STREAM_TABLE_MAX. */
int stream_table_init(struct stream_table *t, unsigned capacity, uint32_t buffer_bytes,
		      struct error *err);
void stream_table_free(struct stream_table *t); /* frees the table; does not close the streams'
						 * descriptors */

/* Returns a new stream in the state LINE, without ports; NULL if all streams are in use. */
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
/* Returns how many bytes of the guest the host's socket has not taken yet. */
static inline uint32_t stream_buffered(const struct stream *s)
{
	return s->rx_cnt - s->fwd_cnt;
}

struct stream *stream_find(const struct stream_table *t, uint32_t host_port, uint32_t guest_port);
/* Gives a stream its two ports, by which stream_find() finds it. No other stream may have the same
 * two ports. */
void stream_name(struct stream_table *t, struct stream *s, uint32_t host_port, uint32_t guest_port);
void stream_unname(struct stream_table *t, struct stream *s);

void stream_queue(struct stream_table *t, struct stream *s);
void stream_unqueue(struct stream_table *t, struct stream *s);
/* Sets the stream's deadline (monotonic time in ns), and moves the stream to the end of the list of
 * the timer `which`. If `which` is TIMER_NONE, removes the stream from its list. */
void stream_set_timer(struct stream_table *t, struct stream *s, enum stream_timer which,
		      uint64_t deadline);

#endif
