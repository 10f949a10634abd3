/* SPDX-License-Identifier: MIT */
/*
 * The command line of a program that other programs of this project start: long options in a table.
 * Each row says how the option's value is read and where it is stored. Names are not abbreviated,
 * "--x V" and "--x=V" mean the same, and after "--" there are no more options. The program that
 * users call, `microagent`, has another parser (src/cli).
 */
#ifndef BASE_COMMAND_LINE_H
#define BASE_COMMAND_LINE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Stores a value in its field, or fails with a message that says what is wrong with the value. The
 * parser puts the option's name in front of this message. `value` belongs to argv, and is NULL if
 * the option has no value. */
typedef int option_take_fn(void *field, const char *value, struct error *err);

struct option_row {
	const char *name;  /* the name of the option, without "--" */
	const char *value; /* the name of the value in the help; NULL: the option has no value */
	option_take_fn *take;
	size_t at;	  /* the offset of the field in the struct of the program's options */
	const char *text; /* what the option does, for the help */
};

/* Parses the command line, and calls take() for each option, in order. Moves the words that are not
 * options to argv[1] and the entries after it, and stores their number in *words. If `words` is
 * NULL, such a word is an error. Fails with ERR_INVALID, or with the error of take(). The options
 * before the invalid one are then already stored. */
int command_line_parse(const struct option_row *rows, size_t count, int argc, char **argv,
		       void *target, size_t *words, struct error *err);
/* Prints a line for each option on stdout. */
void command_line_help(const struct option_row *rows, size_t count);

/* Reads a number from `min` to `max`, which consists only of decimal digits. ERR_INVALID for any
 * other text. */
int command_line_number(const char *text, uint64_t min, uint64_t max, uint64_t *out,
			struct error *err);

/* --- functions for option_row.take ------------------------------------------------------------ */

int option_fd(void *field, const char *value, struct error *err);    /* the field is an int */
int option_text(void *field, const char *value, struct error *err);  /* the field is a const char
								      * * */
int option_given(void *field, const char *value, struct error *err); /* the field is a bool; the
								      * option takes no value */
int option_ignore(void *field, const char *value,
		  struct error *err); /* ignores the value, which is only shown by ps */
/* Reads the version of the caller: the program of this project that has started this program. Fails
 * with ERR_UNAVAILABLE if this program has another version. The versions can differ during an
 * upgrade, while the programs are replaced one after the other, and programs of two versions may
 * not understand each other. The caller gives this option first. Otherwise an option that only the
 * caller's version knows would cause a misleading error. */
int option_caller(void *field, const char *value, struct error *err);

#endif
