/* SPDX-License-Identifier: MIT */
/* NAME:/PATH, something in a workspace. */
#ifndef CLI_GUEST_PATH_H
#define CLI_GUEST_PATH_H

#include <stdbool.h>

#include "base/error.h"

/* "NAME:/path" cut in two; a host path with a colon in it has a '/' in front of that. */
bool guest_path_parse(const char *word, char name[64], const char **path);

/* Puts the workspace in front of an error of the guest, which knows the path alone. An error of
 * this host has a number of the system, or another reason. Returns -1. */
int guest_path_error(const char *name, struct error *err);

#endif
