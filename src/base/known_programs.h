/* SPDX-License-Identifier: MIT */
/*
 * The programs that are run by their names, by us and by what we run: a directory with a link to one
 * of them is not shared writable, and a missing one is told with its package. A program that is not
 * here is run by its path.
 */
#ifndef BASE_KNOWN_PROGRAMS_H
#define BASE_KNOWN_PROGRAMS_H

struct known_program {
	const char *name;    /* NULL behind the last */
	const char *package; /* of Debian's; NULL: nobody is told of it */
};

extern const struct known_program known_programs[];

/* NULL: it is none. */
const struct known_program *known_program_find(const char *name);

#endif
