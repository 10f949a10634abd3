/* SPDX-License-Identifier: MIT */
/*
 * A command in a guest: what is run, where its streams lead, how it ended. These are plain data,
 * which all layers of the library use unchanged. This file is a part of <microagent.h>.
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
	int resized; /* readable when the size has changed; -1: it never does */
	/* Reads what is readable in `resized` and stores the present size, each number at least
	 * 1. */
	void (*size)(void *data, uint16_t *rows, uint16_t *columns);
	void *data;
	int escape; /* the byte on `in` that ends the connection; -1: none */
	/* Called once with connected_data when the guest is connected; NULL: not called. */
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
	 * made anew, and no byte is lost or comes twice. The command is killed if that does not
	 * succeed within this time, for example because the caller has died. */
	int64_t resume_seconds;
	/* {"nofile":{"soft":N,"hard":N},...} for setrlimit(2), set before the program begins. A
	 * number may be "unlimited", and either of the two may be absent. Borrowed; NULL: none. If
	 * the guest refuses one, the result is exit code 125 with a start_error. */
	json_t *rlimits;
	/* Runs the command on a terminal of the guest; stderr is then part of `out`. NULL: on
	 * pipes. */
	const struct microagent_terminal *terminal;
};

/* Signals that are passed on to the command. */
struct microagent_signals {
	int fd; /* readable when next() has something to return (a signalfd, a pipe) */
	/* Reads what is readable in fd. Returns the number (1..64) of a signal for the command, 0
	 * for nothing, or MICROAGENT_SIGNAL_END to end the command as `cancel` does. */
	int (*next)(void *data);
	void *data;
};
#define MICROAGENT_SIGNAL_END (-1)

/* Takes output where descriptors would be too slow or impossible. microagent_run() and
 * microagent_exec() call the function; the command waits while it works. */
struct microagent_sink {
	void (*take)(void *data, bool is_stderr, const void *bytes, size_t len);
	void *data;
};

/*
 * The caller's ends of the command's streams: any kind of descriptor, whose flags stay unchanged.
 * The streams have no size limit, are binary safe, and have back-pressure both ways.
 */
struct microagent_streams {
	int in;	    /* -1: the stream is at its end from the start */
	int out;    /* never -1 without a sink; when its reader closes it, the command is ended */
	int err;    /* never -1 without a sink */
	int cancel; /* when readable, the command is ended; -1: never. Nothing is read from it. */
	/* NULL: none. Until the machine of microagent_run() is up, every signal is a cancel. */
	const struct microagent_signals *signals;
	const struct microagent_sink *sink; /* instead of out and err; NULL: none */
	/* Called while the command runs, from half a second on, when its machine is paused because
	 * a disk has no room; `why` says which. Called with NULL when the machine goes on. May be
	 * NULL. In a paused machine no process takes a signal: SIGINT, SIGTERM and SIGHUP then end
	 * the command as `cancel` does, and the call returns without waiting for the command's
	 * end. */
	void (*paused)(void *data, const struct error *why);
	void *paused_data;
};

enum microagent_end {
	MICROAGENT_EXITED,     /* exit_code is the command's */
	MICROAGENT_CANCELLED,  /* `cancel` became readable, or next() returned
				* MICROAGENT_SIGNAL_END */
	MICROAGENT_OUT_CLOSED, /* the reader of `out` has closed it */
	MICROAGENT_DETACHED    /* the escape byte was typed */
};

struct microagent_outcome {
	enum microagent_end end;
	int exit_code; /* 0..255: 124 timed out, 126 not executable, 127 not found, 128+n */
	int signal;    /* the signal that ended it; 0: none */
	bool timed_out;
	bool killed;	       /* by the agent, after the timeout or a cancel */
	bool unread;	       /* output was dropped, because its reader did not take it before the
				* end that the timeout, a signal or a cancel had set; timed_out is
				* set if it was the timeout */
	int64_t elapsed_ms;    /* time in the guest, from its start to its end */
	char start_error[256]; /* why the command never ran; "" if it did */
};

enum microagent_output { MICROAGENT_STDOUT, MICROAGENT_STDERR };

/* Functions that are called on the thread that waits for the command; data is the caller's own.
 * They may call functions of the library, also for the same guest, but must not close the guest. */
struct microagent_callbacks {
	/* Takes len bytes, at least 1, valid until the function returns. While it works, nothing
	 * more is read from this command, whose writes then wait; other commands are not held up.
	 * The call lasts until the function returns, even beyond the command's time limit. A result
	 * other than 0 ends the command, as a cancel does. */
	int (*output)(void *data, enum microagent_output stream, const void *bytes, size_t len);
	/* Called when the program runs, but not if it could not be started. May be NULL. */
	void (*started)(void *data);
	void *data;
};

/* How a command of a guest handle ended, and its output. */
struct microagent_result {
	/* malloc'd, with a NUL behind the bytes; NULL after microagent_guest_stream(). The lengths
	 * count only the bytes that were kept. */
	char *stdout_bytes, *stderr_bytes;
	size_t stdout_len, stderr_len;
	bool stdout_truncated, stderr_truncated;
	int exit_code;	/* 0..255: 124 timed out (in the guest or on the host), 126 not executable,
			 * 127 not found, 125 not begun because of this library or the agent, 128+n
			 * ended by signal n */
	int signal;	/* the signal that ended it; 0: none */
	bool timed_out; /* a time limit ended it, the guest's or the host's */
	bool cancelled; /* `cancel` was thrown, or `output` refused more */
	bool killed;	/* by the agent or this library, for one of these two reasons */
	int64_t elapsed_ms;    /* time in the guest, from its start to its end */
	char start_error[256]; /* why the command never ran; "" if it did */
};

#ifdef __cplusplus
}
#endif

#endif
