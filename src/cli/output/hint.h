/* SPDX-License-Identifier: MIT */
/*
 * The next step that a person at a command line has. The library and the supervisors name facts and
 * give a reason; what the reason calls for in this program's words stands in one table here.
 */
#ifndef CLI_HINT_H
#define CLI_HINT_H

#include "cli/cli.h"

struct hint {
	enum error_reason reason;
	const char
		*begins; /* of the subject: NULL any, "" an empty one; a row with it comes first */
	const char *option; /* only for a command that has it; NULL: for all */
	const char *text;   /* {}: the subject */
};
extern const struct hint hint_table[];
extern const size_t hint_count;

#define HINT_ROOM 1024

/* "" where there is none. cli may be NULL: then what needs a command is left out. */
void hint_find(const struct cli *cli, enum error_reason reason, const char *subject,
	       char out[HINT_ROOM]);

/* A message with each "`microagent" in it as cli_itself() has it. What does not fit is cut. */
void hint_name_commands(const char *text, char *out, size_t room);

/* The "detail" of an entry in an answer of the library, with the hint for its "reason" behind it.
 * name: the key of the subject. "" without any detail. */
void hint_add_to_detail(const json_t *entry, const char *name, const char *detail,
			char out[HINT_ROOM]);

/* Names the limits that the machine of an entry, or of an answer, was to have and has not; "" where
 * it has them all. */
void hint_unlimited(const json_t *entry, char out[HINT_ROOM]);

/* Of the hint the command alone, if it names one. Changes text; NULL where text is empty. */
const char *hint_command(char *text);

#endif
