/* SPDX-License-Identifier: MIT */
/* Functions for paths in a workspace, which have the form NAME:/PATH. */
#ifndef CLI_GUEST_PATH_H
#define CLI_GUEST_PATH_H

#include <stdbool.h>

#include "base/error.h"

/* Splits "NAME:/path" into `name` and `path`. Returns false for any other word, which is a path of
 * the host. If a path of the host contains a colon, the user must write a '/' before the colon. */
bool guest_path_parse(const char *word, char name[64], const char **path);

/* Puts the name of the workspace in front of an error of the guest, which names only the path. Does
 * not change an error of this host. Such an error has an errno, or a reason other than
 * REASON_GUEST_USER_DENIED. Returns -1. */
int guest_path_error(const char *name, struct error *err);

#endif
