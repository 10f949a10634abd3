/* SPDX-License-Identifier: MIT */
/*
 * A stream on the loop with a queue each way. The stream is a socket, or something that carries a
 * stream. The messages in it are frames, lines or whatever the owner makes of the bytes. Both ends
 * of the guest's control stream use this, and the agent's connections. Owners put bytes into `out`
 * and call framed_flush(). Arriving bytes are in `in`.
 *
 * A peer may close one direction (it sends no more, but reads the answers) or both (it is gone).
 * Both look alike to epoll on a vsock socket; an empty send tells them apart. The owner is only
 * ever called from the loop.
 */
#ifndef BASE_FRAMED_H
#define BASE_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/loop.h"

struct framed_owner {
	/* Called when more bytes are in `in`, or the peer sends no more (`ended` is set). */
	void (*input)(void *data);
	/* Called when `out` has become empty, or shorter than half of LIMIT_AGENT_QUEUE_BYTES after
	 * it was longer than all of it. NULL: the owner does not wait for that. */
	void (*drained)(void *data);
	/* The last call, when the connection has failed or the peer is gone. why is a text for
	 * people. */
	void (*lost)(void *data, const char *why);
	/* If true, what the peer sent before it was gone is read first. Then the peer counts as
	 * sending no more, and the owner has to close. If false, the connection is lost as soon as
	 * the peer is gone, since no process waits for the answers. */
	bool hears_out;
};

/* The functions of something that carries a stream and is no socket. They return values and set
 * errno like the calls on a non-blocking socket. An empty send fails if the peer takes no more. */
struct framed_carrier {
	ssize_t (*send)(void *stream, const void *data, size_t len);
	ssize_t (*receive)(void *stream, void *data, size_t len);
	/* Makes the loop call fn for these events from now on, like loop_add_fd() and
	 * loop_set_events(); fn gets -1 as its fd. */
	void (*watch)(void *stream, uint32_t events, loop_fd_fn *fn, void *data);
	void (*end_sending)(void *stream); /* shutdown(SHUT_WR) */
	void (*close)(void *stream);
};

struct framed {
	struct loop *loop;
	int fd;	      /* -1: closed, or there is a carrier */
	void *stream; /* the stream of the carrier; NULL: closed, or a socket */
	const struct framed_carrier *carrier;
	struct loop_watch *watch, *failure;
	uint32_t events; /* the events that are registered */
	struct buf in, out;
	size_t most;  /* the largest message in bytes; the owner may change it for the next
		       * messages */
	bool reading; /* the owner wants input */
	bool ended;   /* the peer sends no more */
	bool full;    /* out was above the limit and is not yet below half of it */
	const struct framed_owner *owner;
	void *data;
};

/* Takes over fd (a connected stream socket). */
int framed_open(struct framed *framed, struct loop *loop, int fd, size_t most,
		const struct framed_owner *owner, void *data, struct error *err);
/* Opens a stream of a carrier, and takes it over; this cannot fail. */
void framed_open_carried(struct framed *framed, struct loop *loop,
			 const struct framed_carrier *carrier, void *stream, size_t most,
			 const struct framed_owner *owner, void *data);
/* Closes, but returns the carrier's stream, which the caller then owns. */
void *framed_release(struct framed *framed);
/* Closes the sending direction. */
void framed_end_sending(struct framed *framed);
void framed_close(struct framed *framed); /* at once; accepts a closed one */
/* Sends what the socket takes now; the rest is sent later from the loop. */
void framed_flush(struct framed *framed);
/* Queues bytes and flushes. Bytes that can be sent at once are not copied. */
int framed_send_bytes(struct framed *framed, const void *data, size_t len, struct error *err);
/* Queue a frame, or a line, and flush. */
int framed_send(struct framed *framed, const char *text, struct error *err);
int framed_send_line(struct framed *framed, const char *text, struct error *err);

/* Takes one frame. Returns 1 if the frame is done with; 0 if it stays in front for the next
 * framed_take(); -1 if it breaks the protocol. The function may close the socket. */
typedef int framed_taker(void *data, const uint8_t *payload, size_t len, struct error *err);
/* Hands over the whole frames of `in` one at a time and drops each. Returns -1 if a frame broke the
 * protocol, or is longer than `most`; 0 after the last frame, at a frame that stays, or once the
 * socket is closed. */
int framed_take(struct framed *framed, framed_taker *take, void *data, struct error *err);
/* Drops n bytes from the front of `in`, and frees its memory if it is large and has become
 * empty. */
void framed_drop(struct framed *framed, size_t n);
/* Switches reading on or off. While it is off, input stays in the socket and the peer has to wait;
 * the end of the peer is noticed nevertheless. */
void framed_set_reading(struct framed *framed, bool on);

static inline bool framed_is_open(const struct framed *framed)
{
	return framed->fd >= 0 || framed->stream;
}
/* Returns whether the owner must queue no more for now. */
static inline bool framed_is_full(const struct framed *framed)
{
	return framed->full;
}

#endif
