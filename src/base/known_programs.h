/* SPDX-License-Identifier: MIT */
/*
 * The programs that are started by their names, by this project or by a program that it runs. The
 * list has two uses. A directory through which the path of such a program leads, also by a link, is
 * not shared writable with a guest. And if such a program is missing, the error message names its
 * package. A program that is not in this list is started by its path.
 */
#ifndef BASE_KNOWN_PROGRAMS_H
#define BASE_KNOWN_PROGRAMS_H

struct known_program {
	const char *name;    /* the program's name; NULL in the row that ends the list */
	const char *package; /* the Debian package of the program; NULL: no message names the
			      * package */
};

extern const struct known_program known_programs[];

/* Returns the row of a program; NULL if the name is not in the list. */
const struct known_program *known_program_find(const char *name);

#endif
