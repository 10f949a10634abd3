/* SPDX-License-Identifier: MIT */
/*
 * A command in a guest: what is run, where its streams lead, how it ended. Plain data, which every
 * layer of the library takes as it is. Part of <microagent.h>.
 */
#ifndef MICROAGENT_EXEC_H
#define MICROAGENT_EXEC_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "microagent/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The caller's side of a terminal in the guest. */
struct microagent_terminal {
	int resized; /* readable: the size has changed; -1: it never does */
	/* Takes what is readable there and says the present size, each at least 1. */
	void (*size)(void *data, uint16_t *rows, uint16_t *columns);
	void *data;
	int escape; /* the byte on `in` that ends it all; -1: none */
	/* Called once, when the guest is connected, with its own data; NULL: never. */
	void (*connected)(void *data);
	void *connected_data;
};

struct microagent_exec {
	const char *const *command; /* argv, NULL-terminated */
	const char *const *env;	    /* "KEY=VALUE", NULL-terminated; NULL: none */
	const char *cwd;	    /* NULL: the user's home if it exists, else / */
	const char *user;	    /* NULL: the image's, else uid 1000 */
	int64_t timeout_seconds;    /* 0: none */
	/* 0 to 3600. 0: the command is killed when its connection breaks. Else the connection is
	 * made anew, and no byte is lost or comes twice; the command is killed when that does not
	 * come about within this time, so also when the caller dies. */
	int64_t resume_seconds;
	/* {"nofile":{"soft":N,"hard":N},...} of setrlimit(2), set before the program begins; a
	 * number may be "unlimited", either may be absent. Borrowed; NULL: none asked for. What the
	 * guest refuses is exit code 125 with a start_error. */
	json_t *rlimits;
	/* On a terminal of the guest's, stderr then being part of `out`; NULL: on pipes. */
	const struct microagent_terminal *terminal;
};

/* Signals that are handed on to the command. */
struct microagent_signals {
	int fd; /* readable: next() has something to say (a signalfd, a pipe) */
	/* Takes what is readable there. Returns the number (1..64) of a signal for the command, 0
	 * for nothing, or MICROAGENT_SIGNAL_END to have the command ended as by `cancel`. */
	int (*next)(void *data);
	void *data;
};
#define MICROAGENT_SIGNAL_END (-1)

/* Takes output where descriptors would do it too slowly or not at all. Called from within
 * microagent_run() and microagent_exec(); what it does holds up the command. */
struct microagent_sink {
	void (*take)(void *data, bool is_stderr, const void *bytes, size_t len);
	void *data;
};

/*
 * The caller's ends of the command's streams: any kind of descriptor, whose flags are left alone.
 * Without limit, binary safe, with back-pressure both ways.
 */
struct microagent_streams {
	int in;	    /* -1: at its end from the start */
	int out;    /* never -1 without a sink; when its reader goes away the command is ended */
	int err;    /* never -1 without a sink */
	int cancel; /* when readable the command is ended; -1: never. Nothing is read from it. */
	/* NULL: none. Until the machine of microagent_run() is up, whatever comes is a cancel. */
	const struct microagent_signals *signals;
	const struct microagent_sink *sink; /* instead of out and err; NULL: none */
	/* Called while the command runs, from half a second on: its machine is paused for want of
	 * room on a disk, and why; NULL: it goes on. NULL: not told. While it is paused nobody in
	 * it takes a signal: SIGINT, SIGTERM and SIGHUP have the command ended then as by `cancel`,
	 * and neither is waited for.
	 */
	void (*paused)(void *data, const struct error *why);
	void *paused_data;
};

enum microagent_end {
	MICROAGENT_EXITED,     /* exit_code is the command's */
	MICROAGENT_CANCELLED,  /* `cancel` became readable, or MICROAGENT_SIGNAL_END was said */
	MICROAGENT_OUT_CLOSED, /* nobody reads `out` any more */
	MICROAGENT_DETACHED    /* the escape byte was typed */
};

struct microagent_outcome {
	enum microagent_end end;
	int exit_code; /* 0..255: 124 timed out, 126 not executable, 127 not found, 128+n */
	int signal;    /* that ended it; 0: none */
	bool timed_out;
	bool killed;	       /* by the agent: the timeout, or a cancel */
	bool unread;	       /* output was dropped: its reader did not take it by the end that the
				* timeout, a signal or a cancel had set; timed_out, if the timeout */
	int64_t elapsed_ms;    /* in the guest, from its start to its end */
	char start_error[256]; /* why it never ran; "" when it did */
};

enum microagent_output { MICROAGENT_STDOUT, MICROAGENT_STDERR };

/* Called on the thread that waits for the command; data is the caller's own. They may call
 * functions of the library, for the same guest too, but not close it. */
struct microagent_callbacks {
	/* len bytes, at least 1, valid until it returns. While it is at work nothing more is read
	 * from this command, whose writes then wait; others are not held up. While it does not
	 * return the call goes on, beyond the command's time limit too. Other than 0 ends the
	 * command, as a cancel does. */
	int (*output)(void *data, enum microagent_output stream, const void *bytes, size_t len);
	/* The program runs. Not called for one that could not be started. May be NULL. */
	void (*started)(void *data);
	void *data;
};

/* How a command of a guest handle ended, and what it said. */
struct microagent_result {
	/* malloc'd, with a NUL behind the bytes; NULL after microagent_guest_stream(). The lengths
	 * are those of what was kept. */
	char *stdout_bytes, *stderr_bytes;
	size_t stdout_len, stderr_len;
	bool stdout_truncated, stderr_truncated;
	int exit_code;	/* 0..255: 124 timed out (here or there), 126 not executable, 127 not found,
			 * 125 not begun for a reason of ours, 128+n ended by signal n */
	int signal;	/* that ended it; 0: none */
	bool timed_out; /* a time limit ended it, the guest's or the host's */
	bool cancelled; /* `cancel` was thrown, or `output` refused more */
	bool killed;	/* by us, for either reason */
	int64_t elapsed_ms;    /* in the guest, from its start to its end */
	char start_error[256]; /* why it never ran; "" when it did */
};

#ifdef __cplusplus
}
#endif

#endif
