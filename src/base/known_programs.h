/* SPDX-License-Identifier: MIT */
/*
 * The programs that this project, or a program that it runs, starts by their names. A directory
 * that has a link to one of them is not shared writable, and a message about a missing one names
 * its package. A program that is not in this list is run by its path.
 */
#ifndef BASE_KNOWN_PROGRAMS_H
#define BASE_KNOWN_PROGRAMS_H

struct known_program {
	const char *name;    /* NULL after the last */
	const char *package; /* the Debian package; NULL: no message names it */
};

extern const struct known_program known_programs[];

/* Returns the row of a program; NULL if the name is not in the list. */
const struct known_program *known_program_find(const char *name);

#endif
