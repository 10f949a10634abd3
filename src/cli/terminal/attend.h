/* SPDX-License-Identifier: MIT */
/* A guest command that uses the streams or the terminal of this program, from the start of the
 * command to the exit code of this program. */
#ifndef CLI_ATTEND_H
#define CLI_ATTEND_H

#include "cli/cli.h"
#include "cli/terminal/capture.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"
#include "microagent.h"

/* The options that select the stdin of the command. */
struct attend_input {
	bool interactive;
	const char *file;
};
/* clang-format off */ /* rows */
#define ATTEND_INPUT_OPTIONS(values, member)                                                      \
	{"interactive", 'i', CLI_OPTION_FLAG,                                                     \
	 offsetof(values, member) + offsetof(struct attend_input, interactive), NULL,             \
	 "pass stdin on to the command (default: its stdin is empty)", 0, 0},                 \
	{"stdin", 0, CLI_OPTION_STRING,                                                           \
	 offsetof(values, member) + offsetof(struct attend_input, file), "FILE",                  \
	 "pass this file to the command as its stdin", 0, 0}
/* clang-format on */

struct attend {
	struct attend_input input;
	bool terminal;	 /* the command is on a terminal of the guest */
	int64_t timeout; /* the command's timeout in seconds, for messages; 0: none */
};

/* Checks the options. A mistake is the user's error (exit 2). */
int attend_check(struct cli *cli, const struct attend *how, struct error *err);

/* A guest command that is attended. Between attend_begin() and attend_end() the caller hands
 * streams and terminal to the library. Only attend.c uses the members other than `streams` and
 * `terminal`. */
struct attended {
	struct microagent_streams streams;
	const struct microagent_terminal *terminal; /* NULL without attend.terminal */

	const struct cli *cli;
	int64_t timeout;
	uint64_t read_by_ns; /* time at which the timeout has passed; UINT64_MAX: no timeout */
	int file;	     /* the file of --stdin; -1: none */
	struct signals signals;
	struct capture capture; /* the output that is kept for --json */
	struct terminal near;
	struct microagent_signals their_signals;
	struct microagent_sink sink;
	struct microagent_terminal their_terminal;
};
/* Opens the files that the options name, and takes over the terminal and the signals. The caller
 * must not move *attended in memory afterwards. After a failure the caller has nothing to undo. */
int attend_begin(struct attended *attended, const struct cli *cli, const struct attend *how,
		 struct error *err);
/* Closes the files and gives the terminal and the signals back. `status`, *outcome and *err are the
 * results of the library. Returns the exit code of `run` and `exec`, or -1. With --json it prints
 * one object. */
int attend_end(struct attended *attended, int status, const struct microagent_outcome *outcome,
	       struct error *err);

/* Returns the exit code of `run` and `exec`. If the command never ran, its timeout (in seconds, 0:
 * none) has passed, or output was dropped, says so on stderr. `signal`: the signal because of which
 * this program ended the command; 0: none. */
int attend_exit_code(const struct cli *cli, const struct microagent_outcome *outcome,
		     int64_t timeout, int signal);
/* Returns the time on clock_mono_ns() until which this program waits for the reader of the output,
 * if the command begins now. Returns UINT64_MAX without a timeout. */
uint64_t attend_read_by(int64_t timeout);
/* Prints the one object of --json. Returns code. If nobody has read the object in time, says so on
 * stderr and returns CLI_EXIT_TIMEOUT. Returns -1 with an error. */
int attend_print_captured(const struct cli *cli, const struct capture *capture,
			  const struct microagent_outcome *outcome, int code, int64_t timeout,
			  uint64_t read_by_ns, struct error *err);
/* Says on stderr that output was dropped, because the timeout had passed and nobody had read it.
 * Says nothing if nobody reads stderr either. */
void attend_say_unread(const struct cli *cli, int64_t timeout);

#endif
