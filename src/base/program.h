/* SPDX-License-Identifier: MIT */
/*
 * Finds programs of other packages, only in the absolute entries of PATH. A relative entry names a
 * directory below the working directory, and an empty entry names the working directory itself. A
 * guest may have written the files in these directories.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"

bool program_is(const char *path); /* returns true if `path` is a regular file that this process may
				    * execute */
/* Returns the absolute path of a program, which the caller frees. Returns NULL if the program is
 * not in PATH, or if there is no memory. */
char *program_in_path(const char *name);

/* Removes all entries from PATH that are not absolute, or sets a default PATH if no absolute entry
 * remains. Child processes then also search for programs only in absolute entries. Each program of
 * this project calls this function when it starts. */
int program_clean_path(struct error *err);
/* The environment variable in which program_clean_path() stores the original PATH, if it has
 * changed PATH. The programs of this project need the original PATH, because the user's shell still
 * finds programs by it. */
#define PROGRAM_PATH_GIVEN "MICROAGENT_PATH_GIVEN"

#endif
