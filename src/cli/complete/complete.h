/* SPDX-License-Identifier: MIT */
/* Between the files of `microagent __complete`. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/cli.h"

#define COMPLETE_ARGS 8

struct completion {
	FILE *out;
	const char *state_dir;
	const struct cli_command *command; /* the one that is being typed; NULL: none yet */
	const char *args[COMPLETE_ARGS];   /* its words so far */
	size_t count;
	const char *typed; /* what is to be completed */
	const char *front; /* "--arch=": what candidates begin with, front_len bytes of it */
	size_t front_len;
};

/* A line for the word, if what is typed may become it. about: NULL, or what it is. */
void complete_word(const struct completion *c, const char *word, size_t len, const char *about);
/* Commands of a table. */
void complete_commands(const struct completion *c, const struct cli_command *const *commands);

/* offer.c: what a value or an argument may be that a table calls so (kind, len bytes of it). */
void complete_kind(const struct completion *c, const char *kind, size_t len);

#endif
