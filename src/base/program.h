/* SPDX-License-Identifier: MIT */
/*
 * Finds programs of other packages, only in the absolute entries of PATH. A relative entry would
 * mean a directory below the working directory, and an empty entry the working directory itself: a
 * guest may have written the files in these.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"

bool program_is(const char *path); /* returns whether `path` is a regular file that this process
				    * may execute */
/* Returns the absolute path of a program, malloc'd. Returns NULL if the program is not in PATH, or
 * if there is no memory. */
char *program_in_path(const char *name);

/* Removes all entries from PATH that are not absolute, or sets a usual PATH if no entry is left.
 * Child processes then also search for programs only in absolute entries. Each program of this
 * project calls this function when it starts. */
int program_clean_path(struct error *err);
/* The variable in which program_clean_path() keeps the PATH that it found, if it has changed PATH.
 * The programs of this project need the old PATH, because the user's shell still finds programs by
 * it. */
#define PROGRAM_PATH_GIVEN "MICROAGENT_PATH_GIVEN"

#endif
