/* SPDX-License-Identifier: MIT */
/* The interface between the files of `microagent __complete`. */
#ifndef CLI_COMPLETE_H
#define CLI_COMPLETE_H

#include "cli/cli.h"

#define COMPLETE_ARGS 8

struct completion {
	FILE *out;
	const char *state_dir;
	const struct cli_command *command; /* the command that is being typed; NULL: none yet */
	const char *args[COMPLETE_ARGS];   /* the arguments that come before the word to complete */
	size_t count;
	const char *typed; /* the word to complete */
	/* the `front_len` bytes with which each candidate must begin, such as "--arch=" */
	const char *front;
	size_t front_len;
};

/* Prints `word` as a candidate, on one line, if it begins with the typed text. `about` is a
 * description, or NULL. */
void complete_word(const struct completion *c, const char *word, size_t len, const char *about);
/* Prints those commands of a table whose names begin with the typed text. */
void complete_commands(const struct completion *c, const struct cli_command *const *commands);

/* Prints the possible values of an option or an argument. `kind` is the word for the kind of value
 * in the tables, such as "IMAGE". It is `len` bytes long. (offer.c) */
void complete_kind(const struct completion *c, const char *kind, size_t len);

#endif
