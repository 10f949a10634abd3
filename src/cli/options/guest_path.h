/* SPDX-License-Identifier: MIT */
/* Paths in a workspace, written NAME:/PATH. */
#ifndef CLI_GUEST_PATH_H
#define CLI_GUEST_PATH_H

#include <stdbool.h>

#include "base/error.h"

/* Splits "NAME:/path" into `name` and `path`. Returns false for any other word, which is a path of
 * the host. (A user who names a host's path with a colon in it writes a '/' before the colon.) */
bool guest_path_parse(const char *word, char name[64], const char **path);

/* Puts the name of the workspace in front of an error of the guest, which names only the path. An
 * error of this host has an errno, or a reason other than REASON_GUEST_USER_DENIED; it is not
 * changed. Returns -1. */
int guest_path_error(const char *name, struct error *err);

#endif
