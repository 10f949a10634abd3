/* SPDX-License-Identifier: MIT */
/*
 * Hints: the next step for a person at a command line. An error of the library or of a supervisor
 * only says what is wrong, and has a reason. The table here says, for each reason, what the user
 * can do with this program.
 */
#ifndef CLI_HINT_H
#define CLI_HINT_H

#include "cli/cli.h"

struct hint {
	enum error_reason reason;
	/* The row is only for subjects that begin with this text; "": only for an empty subject;
	 * NULL: for all subjects. The first row that fits counts, so rows with NULL come last. */
	const char *begins;
	const char *option; /* the row is only for commands with this option; NULL: for all */
	const char *text;   /* the hint; {} stands for the subject */
};
extern const struct hint hint_table[];
extern const size_t hint_count;

#define HINT_ROOM 1024

/* Writes the hint for a reason and a subject to `out`, or "" if there is none. If `cli` is NULL,
 * hints that are only for commands with an option are left out. */
void hint_find(const struct cli *cli, enum error_reason reason, const char *subject,
	       char out[HINT_ROOM]);

/* Copies a message and replaces each "`microagent" by the text of cli_itself(). A message that does
 * not fit is cut. */
void hint_name_commands(const char *text, char *out, size_t room);

/* Writes the note that a list shows for an entry of the library's answer. The note says in what way
 * the entry's machine is not confined or limited. Then it has the text `detail` (NULL: none), and
 * the hint for the entry's "reason". `name` is the key of the entry's member that is the subject of
 * the hint. Writes "" if the note is empty. */
void hint_add_to_detail(const json_t *entry, const char *name, const char *detail,
			char out[HINT_ROOM]);

/* Writes the names of the limits that a machine should have but does not have; "" if it has all of
 * them. `entry`: an entry of a list or an answer, about this machine. */
void hint_unlimited(const json_t *entry, char out[HINT_ROOM]);

/* Returns the command that a hint names, cut out of `text`; `text` itself if the hint names no
 * command. Changes `text`. Returns NULL if `text` is empty. */
const char *hint_command(char *text);

#endif
