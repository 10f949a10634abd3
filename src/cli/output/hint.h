/* SPDX-License-Identifier: MIT */
/*
 * Hints for a person at a command line. A hint is the next step after an error. An error of the
 * library or of a supervisor tells only what is wrong, and has a reason. The table of hints tells,
 * for each reason, what the user can do with this program.
 */
#ifndef CLI_HINT_H
#define CLI_HINT_H

#include "cli/cli.h"

struct hint {
	enum error_reason reason;
	/* This row applies to subjects that begin with this text. "": only to an empty subject.
	 * NULL: to all subjects. The first row that fits is used, so rows with NULL come last. */
	const char *begins;
	/* the option that a command must have for this row; NULL: the row is for all commands */
	const char *option;
	const char *text; /* the text of the hint, in which {} stands for the subject */
};
extern const struct hint hint_table[];
extern const size_t hint_count;

#define HINT_ROOM 1024

/* Writes the hint for a reason and a subject to `out`; "" if there is none. If `cli` is NULL, rows
 * with an `option` are not used. */
void hint_find(const struct cli *cli, enum error_reason reason, const char *subject,
	       char out[HINT_ROOM]);

/* Copies a message, and replaces each "`microagent" in it by the text of cli_itself(). Cuts a
 * result that does not fit. */
void hint_name_commands(const char *text, char *out, size_t room);

/* Writes the note that a list shows for an entry of the library's answer. The note tells how the
 * entry's machine is not confined or limited. After this, the note has the text `detail` (NULL:
 * none) and the hint for the entry's "reason". `name` is the key of the member that is the subject
 * of the hint. Writes "" if the note is empty. */
void hint_add_to_detail(const json_t *entry, const char *name, const char *detail,
			char out[HINT_ROOM]);

/* Writes the names of the limits that a machine should have but lacks; "" if it lacks none. `entry`
 * is an answer about this machine, or an entry of a list. */
void hint_unlimited(const json_t *entry, char out[HINT_ROOM]);

/* Finds the command that the hint `text` names. Changes `text`, and returns a pointer into it.
 * Returns `text` if the hint names no command; NULL if `text` is empty. */
const char *hint_command(char *text);

#endif
