/* SPDX-License-Identifier: MIT */
/*
 * A stream on the loop, with a queue for each direction. The stream is a socket, or a carrier
 * (struct framed_carrier). The messages in the stream are frames, lines or another form that the
 * owner gives to the bytes. Both ends of the guest's control stream and the connections of the
 * agent are such streams. An owner puts bytes into `out` and calls framed_flush(). Bytes that
 * arrive are in `in`.
 *
 * A peer may close one direction (it sends no more, but still reads the answers) or both (it is
 * gone). For a vsock socket, epoll reports these two events in the same way, so an empty send finds
 * out which of the two has happened. The functions of the owner are called only from the loop.
 */
#ifndef BASE_FRAMED_H
#define BASE_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/loop.h"

struct framed_owner {
	/* Is called when more bytes are in `in`, or the peer sends no more (`ended` is set). */
	void (*input)(void *data);
	/* Is called when `out` has become empty. Is also called when `out` was longer than
	 * LIMIT_AGENT_QUEUE_BYTES and has come down to half of that. May be NULL. */
	void (*drained)(void *data);
	/* Is called when the connection has failed or the peer is gone; no other function is called
	 * after that. The stream has been closed. `why` is a text for people. */
	void (*lost)(void *data, const char *why);
	/* If true, the bytes that the peer sent before it was gone are read first. Then `ended` is
	 * set, and the owner has to close the stream. If false, lost() is called as soon as the
	 * peer is gone, because nobody waits for the answers. */
	bool hears_out;
};

/* The functions of a carrier: a module that carries a stream in place of a socket. send() and
 * receive() return the same values, and set errno in the same way, as the calls on a non-blocking
 * socket. A send of no bytes fails if the peer takes no more. */
struct framed_carrier {
	ssize_t (*send)(void *stream, const void *data, size_t len);
	ssize_t (*receive)(void *stream, void *data, size_t len);
	/* Makes the loop call `fn` for these events from now on, like loop_add_fd() and
	 * loop_set_events(); `fn` gets -1 as its fd. */
	void (*watch)(void *stream, uint32_t events, loop_fd_fn *fn, void *data);
	void (*end_sending)(void *stream); /* closes the sending direction, as shutdown(SHUT_WR)
					    * does */
	void (*close)(void *stream);
};

struct framed {
	struct loop *loop;
	int fd;	      /* the socket; -1: the stream is closed, or there is a carrier */
	void *stream; /* the stream of the carrier; NULL: the stream is closed, or there is a
		       * socket */
	const struct framed_carrier *carrier;
	struct loop_watch *watch, *failure;
	uint32_t events; /* the events for which the loop watches `fd` or `stream` */
	struct buf in, out;
	size_t most;  /* the largest message in bytes; the owner may change it for the next
		       * messages */
	bool reading; /* the owner wants input */
	bool ended;   /* the peer sends no more */
	bool full;    /* `out` was longer than LIMIT_AGENT_QUEUE_BYTES, and has not come down to
		       * half of that since */
	const struct framed_owner *owner;
	void *data;
};

/* Opens a stream on the connected socket `fd`, and takes over the socket. On failure the caller
 * still owns `fd`. */
int framed_open(struct framed *framed, struct loop *loop, int fd, size_t most,
		const struct framed_owner *owner, void *data, struct error *err);
/* Opens a framed stream on `stream`, a stream of a carrier, and takes over `stream`. Cannot
 * fail. */
void framed_open_carried(struct framed *framed, struct loop *loop,
			 const struct framed_carrier *carrier, void *stream, size_t most,
			 const struct framed_owner *owner, void *data);
/* Closes `framed`, but returns the stream of the carrier without closing it. The caller then owns
 * this stream. */
void *framed_release(struct framed *framed);
/* Closes the sending direction. */
void framed_end_sending(struct framed *framed);
void framed_close(struct framed *framed); /* closes the stream at once; accepts a closed stream */
/* Sends as many bytes of `out` as the socket takes now. The loop sends the rest later. */
void framed_flush(struct framed *framed);
/* Queues bytes and flushes. Bytes that can be sent at once are not copied. */
int framed_send_bytes(struct framed *framed, const void *data, size_t len, struct error *err);
/* Queue a frame, or a line, and flush. */
int framed_send(struct framed *framed, const char *text, struct error *err);
int framed_send_line(struct framed *framed, const char *text, struct error *err);

/* A function that takes one frame. Returns 1 if the frame can be dropped. Returns 0 if the frame
 * must stay in `in` for the next framed_take(). Returns -1 if the frame breaks the protocol. The
 * function may close the stream. */
typedef int framed_taker(void *data, const uint8_t *payload, size_t len, struct error *err);
/* Calls take() for each whole frame of `in`, and drops the frame if take() returned 1. Returns -1
 * if take() has failed, or if a frame is longer than `most`. Returns 0 after the last whole frame,
 * at a frame for which take() returned 0, or when the stream has been closed. */
int framed_take(struct framed *framed, framed_taker *take, void *data, struct error *err);
/* Drops n bytes from the front of `in`, and frees its memory if it is large and has become
 * empty. */
void framed_drop(struct framed *framed, size_t n);
/* Switches reading on or off. While reading is off, input stays in the socket, and the peer has to
 * wait. The end of the peer is noticed even while reading is off. */
void framed_set_reading(struct framed *framed, bool on);

static inline bool framed_is_open(const struct framed *framed)
{
	return framed->fd >= 0 || framed->stream;
}
/* Returns whether the owner must put no more into `out` before drained() is called. */
static inline bool framed_is_full(const struct framed *framed)
{
	return framed->full;
}

#endif
