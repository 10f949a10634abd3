/* SPDX-License-Identifier: MIT */
/*
 * The programs that this project, or a program that it runs, starts by name and not by path. The
 * list has two uses. A directory that is a part of the path of such a program, also of a path
 * through a symbolic link, is not shared writable with a guest. And if such a program is missing,
 * the error message names its package. A program that is not in this list is started by its path.
 */
#ifndef BASE_KNOWN_PROGRAMS_H
#define BASE_KNOWN_PROGRAMS_H

struct known_program {
	const char *name;    /* the program's name; NULL in the row that ends the list */
	const char *package; /* the Debian package of the program; NULL: no message names the
			      * package */
};

extern const struct known_program known_programs[];

/* Returns the list's entry for the program `name`; NULL if the name is not in the list. */
const struct known_program *known_program_find(const char *name);

#endif
