/* SPDX-License-Identifier: MIT */
/*
 * Finds programs of other packages, and only in the absolute entries of PATH. A relative entry
 * would be a directory below the present one, and an empty entry the present directory itself: a
 * guest may have written the files there.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"

bool program_is(const char *path); /* returns whether it is a file that can be executed */
/* Returns the absolute path of a program, malloc'd; NULL if it is not in PATH, or without
 * memory. */
char *program_in_path(const char *name);

/* Called at the start of a program of this project: leaves only the absolute entries in PATH, or
 * sets a usual PATH if there is none. So child processes search programs nowhere else either. */
int program_clean_path(struct error *err);
/* The variable that has the earlier PATH, for the programs of this project: the user's other
 * programs are still searched there. It is not set if no entry was left out. */
#define PROGRAM_PATH_GIVEN "MICROAGENT_PATH_GIVEN"

#endif
