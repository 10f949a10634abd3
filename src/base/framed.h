/* SPDX-License-Identifier: MIT */
/*
 * A stream of the loop's, a socket or what another carries, with a queue each way, and messages in
 * it that are frames, lines or whatever the owner makes of the bytes: both ends of the guest's
 * control stream, and the agent's connections. Owners put bytes into `out` and call framed_flush();
 * what arrives is in `in`.
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
	/* More is in `in`, or the peer sends no more (ended). */
	void (*input)(void *data);
	/* `out` has become empty, or shorter than half of LIMIT_AGENT_QUEUE_BYTES after it was
	 * longer than all of it. NULL: the owner does not wait for that. */
	void (*drained)(void *data);
	/* The connection has failed or the peer is gone; the last call. why is for people. */
	void (*lost)(void *data, const char *why);
	/* What the peer said before it was gone counts: it is read first, and then the peer sends
	 * no more, whereupon the owner has to close. Otherwise a peer that is gone is lost at once,
	 * since nobody wants what it asked for. */
	bool hears_out;
};

/* What carries a stream that is no socket of its own. Answers and errno are those of the calls on a
 * socket that does not block; an empty send fails if the peer takes no more. */
struct framed_carrier {
	ssize_t (*send)(void *stream, const void *data, size_t len);
	ssize_t (*receive)(void *stream, void *data, size_t len);
	/* To be told of events from now on, as by loop_add_fd() and loop_set_events(), from the
	 * loop; fn's fd is -1. */
	void (*watch)(void *stream, uint32_t events, loop_fd_fn *fn, void *data);
	void (*end_sending)(void *stream); /* shutdown(SHUT_WR) */
	void (*close)(void *stream);
};

struct framed {
	struct loop *loop;
	int fd;	      /* -1: closed, or there is a carrier */
	void *stream; /* the carrier's; NULL: closed, or a socket */
	const struct framed_carrier *carrier;
	struct loop_watch *watch, *failure;
	uint32_t events; /* as registered */
	struct buf in, out;
	size_t most;  /* bytes of one message; the owner may change it for what comes next */
	bool reading; /* the owner wants input */
	bool ended;   /* the peer sends no more */
	bool full;    /* out was above the limit and is not yet below half of it */
	const struct framed_owner *owner;
	void *data;
};

/* Takes over fd (a connected stream socket). */
int framed_open(struct framed *framed, struct loop *loop, int fd, size_t most,
		const struct framed_owner *owner, void *data, struct error *err);
/* The same for a stream that is carried; taken over, on success alone. */
void framed_open_carried(struct framed *framed, struct loop *loop,
			 const struct framed_carrier *carrier, void *stream, size_t most,
			 const struct framed_owner *owner, void *data);
/* Lets go of the carrier's stream, which is the caller's from then on, and closes. */
void *framed_release(struct framed *framed);
/* No more will be sent. */
void framed_end_sending(struct framed *framed);
void framed_close(struct framed *framed); /* at once; accepts a closed one */
/* Sends what the socket takes now; the rest follows by itself. */
void framed_flush(struct framed *framed);
/* Queues bytes and flushes, without a copy of what goes at once. */
int framed_send_bytes(struct framed *framed, const void *data, size_t len, struct error *err);
/* Queues a frame, or a line, and flushes. */
int framed_send(struct framed *framed, const char *text, struct error *err);
int framed_send_line(struct framed *framed, const char *text, struct error *err);

/* 1: the frame is done with; 0: it stays in front, for the next framed_take(); -1: a breach. The
 * socket may be closed meanwhile. */
typedef int framed_taker(void *data, const uint8_t *payload, size_t len, struct error *err);
/* Hands over the whole frames of `in` one at a time and drops each. -1: one was a breach, or is
 * longer than `most`; 0: it was the last, it stays, or the socket is closed. */
int framed_take(struct framed *framed, framed_taker *take, void *data, struct error *err);
/* Drops n bytes from the front of `in`, and much memory that has become empty. */
void framed_drop(struct framed *framed, size_t n);
/* Off: input stays in the socket and the peer has to wait. Its going away is noticed all the same.
 */
void framed_set_reading(struct framed *framed, bool on);

static inline bool framed_is_open(const struct framed *framed)
{
	return framed->fd >= 0 || framed->stream;
}
/* No more may be queued for now. */
static inline bool framed_is_full(const struct framed *framed)
{
	return framed->full;
}

#endif
