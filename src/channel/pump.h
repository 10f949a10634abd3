/* SPDX-License-Identifier: MIT */
/*
 * Moves bytes between the caller's descriptors and a command in the guest, until the command has
 * ended. Full back-pressure both ways: what the caller does not read, the guest cannot write, and
 * nothing is kept but a frame or two.
 */
#ifndef CHANNEL_PUMP_H
#define CHANNEL_PUMP_H

#include "base/error.h"
#include "channel/agent.h"

/* The caller's side of a terminal of the guest's. */
struct pump_terminal {
	int resized; /* readable: the size has changed; -1: it never does */
	/* Takes what is readable there and says the size, which may be the old one. */
	void (*size)(void *data, struct agent_size *out);
	void *data;
	int escape; /* the byte of stdin that ends it all; -1: none */
};

/* Signals for the command. */
struct pump_signals {
	int fd; /* readable: next() has something to say */
	/* Takes what is readable there: a signal's number, 0 for none, PUMP_SIGNAL_CANCEL. */
	int (*next)(void *data);
	void *data;
};
#define PUMP_SIGNAL_CANCEL (-1)

/* Takes output at once, whatever there is. */
struct pump_sink {
	void (*take)(void *data, bool is_stderr, const void *bytes, size_t len);
	void *data;
};

/* How the connection of a resumable exec that broke is made anew. */
struct pump_redial {
	int (*dial)(void *data, struct error *err); /* a connected socket, or -1 */
	void *data;
};

/* Whether the guest stands still, so that nobody in it answers. */
struct pump_pause {
	int fd;			  /* readable: it may be otherwise now; -1: that is not told */
	bool (*look)(void *data); /* takes what is readable there */
	void *data;
};

/*
 * The caller's descriptors may be of any kind: terminals, pipes, files, sockets. Their flags are
 * left alone, since they may be shared with other programs. SIGPIPE must be ignored.
 */
struct pump_fds {
	int in;	    /* -1: nothing is forwarded */
	int out;    /* never -1 without a sink */
	int err;    /* never -1 without a sink */
	int cancel; /* readable: stop (a signalfd, a pipe); -1: none. Nothing is read from it. */
	const struct pump_terminal *terminal; /* NULL: none */
	const struct pump_signals *signals;   /* NULL: none */
	const struct pump_sink *sink;	      /* instead of out and err; NULL: none */
	const struct pump_redial *redial;     /* NULL: a broken connection is the end */
	const struct pump_pause *pause;	      /* NULL: it never does */
};

enum pump_end {
	PUMP_EXITED,	 /* the command ended; all of its output has been written */
	PUMP_CANCELLED,	 /* `cancel` became readable, or PUMP_SIGNAL_CANCEL was said */
	PUMP_OUT_CLOSED, /* nobody reads `out` any more */
	PUMP_DETACHED	 /* the escape byte came */
};

/* What is to happen when the caller stops first. */
enum pump_cancel {
	PUMP_CANCEL_RETURN, /* return at once: the caller ends the whole guest */
	/* Have the agent kill the command and wait for that, LIMIT_CANCEL_MS; not where it is
	 * paused: the end of the connection ends the command too, as soon as it goes on. */
	PUMP_CANCEL_KILL
};

/*
 * agent_fd is the connected socket on which stream's request goes out. *end and *exit (for
 * PUMP_EXITED) are set on success. ERR_UNAVAILABLE when the connection is lost; ERR_IO when the
 * guest breaks the protocol, or output cannot be written for another reason than a closed pipe.
 */
int pump_run(int agent_fd, struct agent_stream *stream, const struct pump_fds *fds,
	     enum pump_cancel on_cancel, enum pump_end *end, struct agent_exit *exit,
	     struct error *err);

#endif
