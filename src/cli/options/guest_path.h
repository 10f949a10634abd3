/* SPDX-License-Identifier: MIT */
/* Paths in a workspace, written NAME:/PATH. */
#ifndef CLI_GUEST_PATH_H
#define CLI_GUEST_PATH_H

#include <stdbool.h>

#include "base/error.h"

/* Splits "NAME:/path" into name and path. Returns false for a path of the host; a host path that
 * contains a colon has a '/' before the colon. */
bool guest_path_parse(const char *word, char name[64], const char **path);

/* Puts the name of the workspace in front of an error of the guest, because the guest knows only
 * the path. An error of this host is not changed: it has an errno, or another reason. Returns -1.
 */
int guest_path_error(const char *name, struct error *err);

#endif
