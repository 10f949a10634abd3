/* SPDX-License-Identifier: MIT */
/*
 * A stream on the loop, with a queue for each direction. The stream is a socket, or a carrier
 * (struct framed_carrier). The messages in the stream are frames, lines or another form that the
 * user of the stream chooses. The user is the module that opens the stream and provides the
 * functions of struct framed_owner. Examples are both ends of the guest's control stream, and the
 * connections of the agent. The user puts bytes into `out` and calls framed_flush(). Received bytes
 * are in `in`.
 *
 * A peer may shut down its sending direction and still read, or close the whole connection. For a
 * vsock socket, epoll reports both in the same way. So a send of no bytes is used to find out which
 * of the two has happened. The functions of struct framed_owner are called only from the loop.
 */
#ifndef BASE_FRAMED_H
#define BASE_FRAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/loop.h"

struct framed_owner {
	/* Called when more bytes are in `in`, or when the peer has shut down its sending direction
	 * (`ended` is set). */
	void (*input)(void *data);
	/* Called when `out` has become empty. Also called when `out` was longer than
	 * LIMIT_AGENT_QUEUE_BYTES and has shrunk to half of that. May be NULL. */
	void (*drained)(void *data);
	/* Called when the connection has failed or the peer has closed it. The stream is already
	 * closed then, and no function of this struct is called afterwards. `why` is a text for a
	 * person. */
	void (*lost)(void *data, const char *why);
	/* If true, the bytes that the peer sent before it closed the connection are read first.
	 * Then `ended` is set, and the user must close the stream. If false, lost() is called as
	 * soon as the peer has closed the connection, since no process waits for answers. */
	bool hears_out;
};

/* The functions of a carrier: a module that carries a stream in place of a socket. send() and
 * receive() return the same values, and set errno in the same way, as the calls on a non-blocking
 * socket. A send of no bytes fails if the peer accepts no more bytes. */
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
	int fd;	      /* the socket; -1: the stream is closed, or it has a carrier */
	void *stream; /* the stream of the carrier; NULL: the stream is closed, or it is a socket */
	const struct framed_carrier *carrier;
	struct loop_watch *watch, *failure;
	uint32_t events; /* the events for which the loop watches `fd` or `stream` */
	struct buf in, out;
	size_t most;  /* the greatest length of a message in bytes; the user may change it for later
		       * messages */
	bool reading; /* the user wants input */
	bool ended;   /* the peer has shut down its sending direction */
	bool full;    /* `out` was longer than LIMIT_AGENT_QUEUE_BYTES, and has not yet shrunk to
		       * half of that */
	const struct framed_owner *owner;
	void *data;
};

/* Opens a stream on the connected socket `fd`, which framed_close() will close. On failure, `fd`
 * stays open. */
int framed_open(struct framed *framed, struct loop *loop, int fd, size_t most,
		const struct framed_owner *owner, void *data, struct error *err);
/* Opens a framed stream on `stream`, a stream of a carrier, which framed_close() will close. Cannot
 * fail. */
void framed_open_carried(struct framed *framed, struct loop *loop,
			 const struct framed_carrier *carrier, void *stream, size_t most,
			 const struct framed_owner *owner, void *data);
/* Closes `framed` without closing the stream of the carrier, and returns that stream, which the
 * caller must close. */
void *framed_release(struct framed *framed);
/* Closes the sending direction, as shutdown(SHUT_WR) does. */
void framed_end_sending(struct framed *framed);
void framed_close(struct framed *framed); /* closes the stream at once; accepts a closed stream */
/* Sends as many bytes of `out` as the socket accepts at once. The loop sends the other bytes
 * later. */
void framed_flush(struct framed *framed);
/* Queues bytes and flushes the queue. Bytes that the socket accepts at once are not copied. */
int framed_send_bytes(struct framed *framed, const void *data, size_t len, struct error *err);
/* Queue a frame, or a line, and flush the queue. */
int framed_send(struct framed *framed, const char *text, struct error *err);
int framed_send_line(struct framed *framed, const char *text, struct error *err);

/* A function that handles one frame. Returns 1 if the frame can be dropped, 0 if the frame must
 * stay in `in` until the next framed_take(), -1 if the frame breaks the protocol. The function may
 * close the stream. */
typedef int framed_taker(void *data, const uint8_t *payload, size_t len, struct error *err);
/* Calls take() for each complete frame in `in`, and drops the frame if take() returned 1. Returns
 * -1 if take() has failed, or if a frame is longer than `most`. Returns 0 after the last complete
 * frame, after a frame for which take() returned 0, or if take() has closed the stream. */
int framed_take(struct framed *framed, framed_taker *take, void *data, struct error *err);
/* Drops n bytes from the beginning of `in`. If `in` becomes empty and its memory is large, frees
 * that memory. */
void framed_drop(struct framed *framed, size_t n);
/* Switches reading on or off. While reading is off, input stays in the socket, and the peer must
 * wait. If the peer closes the connection, this is noticed even while reading is off. */
void framed_set_reading(struct framed *framed, bool on);

static inline bool framed_is_open(const struct framed *framed)
{
	return framed->fd >= 0 || framed->stream;
}
/* Returns true if the user must put no more bytes into `out` before drained() is called. */
static inline bool framed_is_full(const struct framed *framed)
{
	return framed->full;
}

#endif
