/* SPDX-License-Identifier: MIT */
/* Functions for a guest command that uses the streams or the terminal of this program. They cover
 * the time from the command's start to this program's exit code. */
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
	bool terminal;	 /* true: the command gets a terminal of the guest */
	int64_t timeout; /* the command's time limit in seconds, for messages; 0: none */
};

/* Checks the options. A wrong option is a mistake of the user (exit 2). */
int attend_check(struct cli *cli, const struct attend *how, struct error *err);

/* The state of this program while it passes data between the user and a guest command. Between
 * attend_begin() and attend_end() the caller passes streams and terminal to the library. Only
 * attend.c uses the other members. */
struct attended {
	struct microagent_streams streams;
	/* the user's terminal; NULL: attend.terminal was false */
	const struct microagent_terminal *terminal;

	const struct cli *cli;
	int64_t timeout;
	/* the time on clock_mono_ns() at which the timeout passes; UINT64_MAX: there is no
	 * timeout */
	uint64_t read_by_ns;
	int file; /* the descriptor of --stdin; -1: none */
	struct signals signals;
	struct capture capture; /* the output that is kept for --json */
	struct terminal near;
	struct microagent_signals their_signals;
	struct microagent_sink sink;
	struct microagent_terminal their_terminal;
};
/* Opens the files that the options name, and takes over the terminal and the signals. Afterwards
 * *attended must stay at its address. After a failure the caller has nothing to undo. */
int attend_begin(struct attended *attended, const struct cli *cli, const struct attend *how,
		 struct error *err);
/* Closes the files, and restores the terminal and the signals. `status`, *outcome and *err are the
 * results of the library. Returns the exit code of `run` and `exec`, or -1 with an error. With
 * --json prints one object. */
int attend_end(struct attended *attended, int status, const struct microagent_outcome *outcome,
	       struct error *err);

/* Returns the exit code of `run` and `exec`. Prints on stderr if the command never ran, if its time
 * limit has passed, or if output was dropped. `timeout` is in seconds; 0: none. `signal` is the
 * signal to this program that has ended the command; 0: none. */
int attend_exit_code(const struct cli *cli, const struct microagent_outcome *outcome,
		     int64_t timeout, int signal);
/* Returns the time on clock_mono_ns() until which this program waits for the reader of the output
 * of a command that begins now. `timeout` is in seconds; for 0 returns UINT64_MAX. */
uint64_t attend_read_by(int64_t timeout);
/* Prints the object of --json. Returns `code`. If nobody has read the object in time, reports this
 * on stderr and returns CLI_EXIT_TIMEOUT. Returns -1 with an error. */
int attend_print_captured(const struct cli *cli, const struct capture *capture,
			  const struct microagent_outcome *outcome, int code, int64_t timeout,
			  uint64_t read_by_ns, struct error *err);
/* Prints on stderr that output was dropped, because the time limit had passed and nobody had read
 * the output. Prints nothing if nobody reads stderr. */
void attend_say_unread(const struct cli *cli, int64_t timeout);

#endif
