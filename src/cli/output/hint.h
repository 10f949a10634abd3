/* SPDX-License-Identifier: MIT */
/*
 * The next step for a person at a command line. The library and the supervisors give facts and a
 * reason. The table here has, for each reason, what the user can do with this program.
 */
#ifndef CLI_HINT_H
#define CLI_HINT_H

#include "cli/cli.h"

struct hint {
	enum error_reason reason;
	const char
		*begins; /* the subject's beginning; NULL: any; "": empty; such rows come first */
	const char *option; /* only for commands with this option; NULL: for all */
	const char *text;   /* {} stands for the subject */
};
extern const struct hint hint_table[];
extern const size_t hint_count;

#define HINT_ROOM 1024

/* Writes the hint for a reason and a subject to out, or "" if there is none. cli may be NULL; then
 * hints that need a command are left out. */
void hint_find(const struct cli *cli, enum error_reason reason, const char *subject,
	       char out[HINT_ROOM]);

/* Copies a message and replaces each "`microagent" by the text of cli_itself(). A message that does
 * not fit is cut. */
void hint_name_commands(const char *text, char *out, size_t room);

/* Writes the "detail" of an entry of the library's answer, and after it the hint for its "reason".
 * name: the key of the hint's subject. Writes "" if there is no detail. */
void hint_add_to_detail(const json_t *entry, const char *name, const char *detail,
			char out[HINT_ROOM]);

/* Writes the names of the limits that the machine of an entry, or of an answer, should have and
 * does not have; "" if it has all of them. */
void hint_unlimited(const json_t *entry, char out[HINT_ROOM]);

/* Returns only the command of a hint if the hint names one. Changes text. Returns NULL if text is
 * empty. */
const char *hint_command(char *text);

#endif
