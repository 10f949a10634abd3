/* SPDX-License-Identifier: MIT */
/*
 * The command line of a program that other programs start: long options in a table. Each row says
 * how its value is read and where it is stored. Names are not abbreviated, "--x V" and "--x=V" mean
 * the same, and after "--" there are no more options. The command line for people is in the CLI.
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Puts a value into its field, or says what is wrong with it; the option's name is put in front of
 * that message. value belongs to argv and lives as long; NULL if the row has no value. */
typedef int option_take_fn(void *field, const char *value, struct error *err);

struct option_row {
	const char *name;  /* without "--" */
	const char *value; /* the name of the value in the help; NULL: the option takes none */
	option_take_fn *take;
	size_t at; /* offset of the field in the program's own struct */
	const char *text;
};

/* Parses the command line. A later option overrides an earlier one if take() does so. On failure
 * some options have been stored already. *words becomes the number of other words, which are moved
 * to argv[1] and on; if words is NULL, other words are an error. Fails with ERR_INVALID. */
int command_line_parse(const struct option_row *rows, size_t count, int argc, char **argv,
		       void *target, size_t *words, struct error *err);
/* Prints a line for each option on stdout. */
void command_line_help(const struct option_row *rows, size_t count);

/* Reads a number that consists only of decimal digits, from min to max. */
int command_line_number(const char *text, uint64_t min, uint64_t max, uint64_t *out,
			struct error *err);

/* --- what rows take -------------------------------------------------------------------------- */

int option_fd(void *field, const char *value, struct error *err);    /* int */
int option_text(void *field, const char *value, struct error *err);  /* const char * */
int option_given(void *field, const char *value, struct error *err); /* bool; takes no value */
int option_ignore(void *field, const char *value,
		  struct error *err); /* for people who look at ps; the value is ignored */
/* Takes the version of the caller, a program of this project that starts this one, and refuses any
 * version but its own. The programs are installed one after the other, and their protocol with each
 * other holds only within one version. This must be the first option, so that a difference is
 * reported before an option that only the other version knows. */
int option_caller(void *field, const char *value, struct error *err);

#endif
