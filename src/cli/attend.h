/* SPDX-License-Identifier: MIT */
/* A command of a guest on our own streams or terminal, from its start to our exit code. */
#ifndef CLI_ATTEND_H
#define CLI_ATTEND_H

#include "cli/cli.h"
#include "cli/signals.h"
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

/* Runs the command on what it is given. terminal: NULL without attend.terminal. */
typedef int attend_fn(void *data, const struct microagent_streams *streams,
		      const struct microagent_terminal *terminal,
		      struct microagent_outcome *outcome, struct error *err);
/* Calls fn and returns the exit code of `run` and `exec`, or -1. With --json the output is kept,
 * and one object printed at the end. */
int attend(const struct cli *cli, const struct attend *how, attend_fn *fn, void *data,
	   struct error *err);

/* The exit code of `run` and `exec`; says on stderr why a command never ran, and when its timeout
 * (in seconds, 0: none) has passed. */
int attend_exit_code(const struct cli *cli, const struct microagent_outcome *outcome,
		     int64_t timeout, struct signals *signals);

#endif
