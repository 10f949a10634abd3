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
	const char *args[COMPLETE_ARGS];   /* the words of the command so far */
	size_t count;
	const char *typed; /* the word to complete */
	const char *front; /* the text that each candidate must begin with ("--arch="), of
			    * `front_len` bytes */
	size_t front_len;
};

/* Prints a line for the word if the word begins with the typed text. `about`: a description, or
 * NULL. */
void complete_word(const struct completion *c, const char *word, size_t len, const char *about);
/* Prints those commands of a table whose names begin with the typed text. */
void complete_commands(const struct completion *c, const struct cli_command *const *commands);

/* Prints the possible values of an option or an argument. `kind`, which is `len` bytes long, is the
 * name of the values in an option table. (offer.c) */
void complete_kind(const struct completion *c, const char *kind, size_t len);

#endif
