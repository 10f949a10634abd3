/* SPDX-License-Identifier: MIT */
/*
 * Where the programs of others are found: in the absolute entries of PATH alone. Another entry is a
 * directory of wherever the user happens to be, and an empty one that itself: what lies there may be
 * a guest's.
 */
#ifndef BASE_PROGRAM_H
#define BASE_PROGRAM_H

#include <stdbool.h>

#include "base/error.h"

bool program_is(const char *path); /* a file that can be executed */
/* Its path, absolute and malloc'd; NULL where it is not in PATH, and without memory. */
char *program_in_path(const char *name);

/* For the start of a program of ours: leaves of PATH its absolute entries, or a usual one where it
 * has none, so that what others start by a name is looked for nowhere else either. */
int program_clean_path(struct error *err);
/* The variable that has PATH as it was before that, for us and the programs of ours that we start:
 * the user's other programs go on looking there. Not set where nothing was left out. */
#define PROGRAM_PATH_GIVEN "MICROAGENT_PATH_GIVEN"

#endif
