/* SPDX-License-Identifier: MIT */
/* A command of a guest on our own streams or terminal, from its start to our exit code. */
#ifndef CLI_ATTEND_H
#define CLI_ATTEND_H

#include "cli/cli.h"
#include "cli/terminal/capture.h"
#include "cli/terminal/signals.h"
#include "cli/terminal/terminal.h"
#include "microagent.h"

/* Where stdin comes from; rows for option tables. */
struct attend_input {
	bool interactive;
	const char *file;
};
/* clang-format off */ /* rows */
#define ATTEND_INPUT_OPTIONS(values, member)                                                      \
	{"interactive", 'i', CLI_OPTION_FLAG,                                                     \
	 offsetof(values, member) + offsetof(struct attend_input, interactive), NULL,             \
	 "hand stdin on to the command; without, its stdin is at its end", 0, 0},                 \
	{"stdin", 0, CLI_OPTION_STRING,                                                           \
	 offsetof(values, member) + offsetof(struct attend_input, file), "FILE",                  \
	 "hand this file on to the command as its stdin", 0, 0}
/* clang-format on */

struct attend {
	struct attend_input input;
	bool terminal;	 /* the command is on a terminal of the guest */
	int64_t timeout; /* seconds, for the message; 0: none */
};

/* What is wrong with the words. */
int attend_check(struct cli *cli, const struct attend *how, struct error *err);

/* A command that is attended: what the library is to be given for it, between the two calls. */
struct attended {
	struct microagent_streams streams;
	const struct microagent_terminal *terminal; /* NULL without attend.terminal */

	const struct cli *cli;
	int64_t timeout;
	uint64_t read_by_ns; /* when the timeout has passed; UINT64_MAX: there is none */
	int file;	     /* of --stdin; -1: none */
	struct signals signals;
	struct capture capture; /* of --json: the output is kept */
	struct terminal near;
	struct microagent_signals their_signals;
	struct microagent_sink sink;
	struct microagent_terminal their_terminal;
};
/* Opens what the words name and takes the terminal and the signals. Not to be moved from then on;
 * on failure nothing is to be undone. */
int attend_begin(struct attended *attended, const struct cli *cli, const struct attend *how,
		 struct error *err);
/* Gives all of that back. status: the library's, with *outcome (and *err) from it. Returns the exit
 * code of `run` and `exec`, or -1. With --json one object is printed. */
int attend_end(struct attended *attended, int status, const struct microagent_outcome *outcome,
	       struct error *err);

/* The exit code of `run` and `exec`; says on stderr why a command never ran, when its timeout (in
 * seconds, 0: none) has passed, and that output was dropped. signal: what ended it where something
 * of ours did. */
int attend_exit_code(const struct cli *cli, const struct microagent_outcome *outcome,
		     int64_t timeout, int signal);
/* Until when the reader of the output is waited for, of clock_mono_ns(), where the command begins
 * now; UINT64_MAX without a timeout. */
uint64_t attend_read_by(int64_t timeout);
/* Prints the one object of --json. Returns code, or CLI_EXIT_TIMEOUT where nobody read it in time,
 * which it says on stderr; -1 with err. */
int attend_print_captured(const struct cli *cli, const struct capture *capture,
			  const struct microagent_outcome *outcome, int code, int64_t timeout,
			  uint64_t read_by_ns, struct error *err);
/* Says that output was dropped since the timeout had passed, unless nobody reads stderr either. */
void attend_say_unread(const struct cli *cli, int64_t timeout);

#endif
