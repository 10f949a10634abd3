/* SPDX-License-Identifier: MIT */
/*
 * The command line of a program that other programs start: long options in a table, each of which
 * knows how its value is taken and where it goes. Names are taken whole, "--x V" and "--x=V" alike,
 * and after "--" there are no more options. For what people type, see the CLI.
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Puts a value into its field, or says what is wrong with it; the option's name is put before that.
 * value is one of argv and lives as long; NULL where the row has none. */
typedef int option_take_fn(void *field, const char *value, struct error *err);

struct option_row {
	const char *name;  /* without "--" */
	const char *value; /* as the help names it; NULL: takes none */
	option_take_fn *take;
	size_t at; /* of the field, in the program's own struct */
	const char *text;
};

/* Later options win over earlier ones, as far as take() has it so; on failure some have been taken.
 * words: how many other words there are, which are moved to argv[1] and on; NULL: none may be.
 * Fails with ERR_INVALID. */
int command_line_parse(const struct option_row *rows, size_t count, int argc, char **argv,
		       void *target, size_t *words, struct error *err);
/* A line for each, on stdout. */
void command_line_help(const struct option_row *rows, size_t count);

/* Decimal digits alone, from min to max. */
int command_line_number(const char *text, uint64_t min, uint64_t max, uint64_t *out,
			struct error *err);

/* --- what rows take -------------------------------------------------------------------------- */

int option_fd(void *field, const char *value, struct error *err);    /* int */
int option_text(void *field, const char *value, struct error *err);  /* const char * */
int option_given(void *field, const char *value, struct error *err); /* bool; takes no value */
int option_ignore(void *field, const char *value,
		  struct error *err); /* for people who look at ps */
/* The version of the program of ours that starts this one. They are installed one after the other,
 * and what they say to each other is one version's alone: refuses any but its own. To be the first
 * option, so that it is told of before one that only the other version knows. */
int option_caller(void *field, const char *value, struct error *err);

#endif
