/* SPDX-License-Identifier: MIT */
/*
 * A command in a guest: its program and arguments, its streams, and how it ends. All functions of
 * the library that run a command use these structs. <microagent.h> includes this file.
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

/* The caller's terminal, for a command that runs on a terminal of the guest. */
struct microagent_terminal {
	int resized; /* a descriptor that is readable when the size has changed; -1: the size never
		      * changes */
	/* Empties `resized`, and stores the size that the terminal has now. Each number must be at
	 * least 1. */
	void (*size)(void *data, uint16_t *rows, uint16_t *columns);
	void *data;
	int escape; /* when this byte comes from microagent_streams.in (when it is typed), the
		     * connection ends; -1: no byte ends the connection */
	/* Called once, with `connected_data`, when the guest is connected; may be NULL. */
	void (*connected)(void *data);
	void *connected_data;
};

/* A command, with the user and the directory of the guest in which it runs. */
struct microagent_exec {
	const char *const *command; /* the argument vector, NULL-terminated */
	const char *const *env;	    /* variables as "KEY=VALUE", NULL-terminated; NULL: no
				     * variables */
	const char *cwd;	    /* the working directory; NULL: the home of `user` if it exists,
				     * else / */
	const char *user;	    /* the guest's user; NULL: the image's user, or uid 1000 if the
				     * image names none */
	int64_t timeout_seconds;    /* time limit in seconds; 0: no limit */
	/* The time in seconds, from 0 to 3600, for which the command survives a broken connection.
	 * With 0 the command is killed when its connection breaks. Else the library connects again,
	 * and no byte is lost or comes twice. If no new connection succeeds within this time, for
	 * example because the caller has died, the command is killed. */
	int64_t resume_seconds;
	/* The limits for setrlimit(2), {"nofile":{"soft":N,"hard":N},...}, which are set before the
	 * program begins. N may be "unlimited". "soft" or "hard" may be absent. Borrowed; NULL: no
	 * limits. If the guest refuses a limit, the result is exit code 125 with a start_error. */
	json_t *rlimits;
	/* If set, the command runs on a terminal of the guest, and both its stdout and its stderr
	 * go to microagent_streams.out. NULL: the command runs on pipes. */
	const struct microagent_terminal *terminal;
};

/* The source of the signals that are passed on to the command. */
struct microagent_signals {
	int fd; /* a descriptor (a signalfd, a pipe) that is readable when next() has a signal to
		 * return */
	/* Reads a signal from `fd`. Returns the number (1..64) of a signal for the command, 0 if
	 * there is no signal, or MICROAGENT_SIGNAL_END to end the command as `cancel` does. */
	int (*next)(void *data);
	void *data;
};
#define MICROAGENT_SIGNAL_END (-1)

/* A function that takes the output, for a caller that cannot use descriptors or finds them too
 * slow. microagent_run() and microagent_exec() call take(). The command waits until take()
 * returns. */
struct microagent_sink {
	void (*take)(void *data, bool is_stderr, const void *bytes, size_t len);
	void *data;
};

/*
 * The caller's descriptors for the command's streams. A descriptor may be of any kind, and its
 * flags stay unchanged. The streams have no size limit, may contain any bytes, and make a fast
 * writer wait for a slow reader in both directions.
 */
struct microagent_streams {
	int in;	    /* the descriptor that the command reads as stdin; -1: the command's stdin is
		     * empty */
	int out;    /* the descriptor for stdout; -1 only with a sink. When the program that reads
		     * from `out` closes its descriptor, the command is ended. */
	int err;    /* the descriptor for stderr; -1 only with a sink */
	int cancel; /* when this descriptor is readable, the command is ended; -1: no descriptor.
		     * Nothing is read from the descriptor. */
	/* The signals for the command; NULL: no signals. Until the machine of microagent_run() is
	 * up, every signal cancels the call. */
	const struct microagent_signals *signals;
	const struct microagent_sink *sink; /* takes the output instead of `out` and `err`; NULL: no
					     * sink */
	/* Is called when the command's machine is paused because a disk has no room; `why` says
	 * which disk. Is called with NULL as `why` when the machine goes on. Is not called in the
	 * first half second of the command. May be NULL. In a paused machine no process can receive
	 * a signal. So during the pause SIGINT, SIGTERM and SIGHUP end the command as `cancel`
	 * does, and the call returns without waiting for the command's end. */
	void (*paused)(void *data, const struct error *why);
	void *paused_data;
};

enum microagent_end {
	MICROAGENT_EXITED,     /* the command has ended; `exit_code` is its exit code */
	MICROAGENT_CANCELLED,  /* the caller cancelled: `cancel` became readable, or next() returned
			        * MICROAGENT_SIGNAL_END */
	MICROAGENT_OUT_CLOSED, /* the reader of `out` has closed it */
	MICROAGENT_DETACHED    /* the escape byte was typed */
};

struct microagent_outcome {
	enum microagent_end end;
	int exit_code; /* 0..255: 124 the command timed out, 125 the agent could not start it, 126
		        * the program cannot be executed, 127 the program was not found, 128+n
		        * signal n ended the command */
	int signal;    /* the signal that ended the command; 0: no signal ended it */
	bool timed_out;
	bool killed; /* the agent killed the command after the timeout or a cancel */
	/* Output was dropped, because the reader of `out` or `err` was too slow: the reader had not
	 * taken the output when the timeout, a signal or a cancel ended the wait for the reader.
	 * `timed_out` is also set if the timeout ended this wait. */
	bool unread;
	int64_t elapsed_ms;    /* time from the start of the command to its end, in the guest */
	char start_error[256]; /* why the command never ran; "" if the command ran */
};

enum microagent_output { MICROAGENT_STDOUT, MICROAGENT_STDERR };

/* Functions that the library calls on the thread that waits for the command, with `data` as their
 * first argument. These functions may call functions of the library, also for the same guest, but
 * must not close the guest. */
struct microagent_callbacks {
	/* Takes `len` bytes, at least 1, which are valid until the function returns. Until the
	 * function returns, no more output of this command is read, so the command waits when it
	 * writes more. Other commands do not wait. The library's call lasts until this function
	 * returns, even beyond the time limit of the command. A result other than 0 ends the
	 * command as a cancel does. */
	int (*output)(void *data, enum microagent_output stream, const void *bytes, size_t len);
	/* Is called when the program has been started. Is not called if the program could not be
	 * started. May be NULL. */
	void (*started)(void *data);
	void *data;
};

/* The output of a command that was run by a guest handle or a session, and how the command
 * ended. */
struct microagent_result {
	/* The output that was kept, malloc'd, with a NUL behind it; NULL after
	 * microagent_guest_stream(). The lengths count only the bytes that were kept, without the
	 * NUL. */
	char *stdout_bytes, *stderr_bytes;
	size_t stdout_len, stderr_len;
	bool stdout_truncated, stderr_truncated;
	int exit_code;	/* 0..255: 124 the command timed out (in the guest or on the host), 125 this
			 * library or the agent could not start it, 126 the program cannot be
			 * executed, 127 the program was not found, 128+n signal n ended the
			 * command */
	int signal;	/* the signal that ended the command; 0: no signal ended it */
	bool timed_out; /* a time limit of the guest or of the host ended the command */
	bool cancelled; /* microagent_cancel_fire() was called for the switch of the limits, or
			 * `output` returned another value than 0 */
	bool killed;	/* the agent or this library killed the command, because it timed out or was
			 * cancelled */
	int64_t elapsed_ms;    /* time from the start of the command to its end, in the guest */
	char start_error[256]; /* why the command never ran; "" if the command ran */
};

#ifdef __cplusplus
}
#endif

#endif
