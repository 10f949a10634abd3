/* SPDX-License-Identifier: MIT */
/* NAME:/PATH, something in a workspace. */
#ifndef CLI_GUEST_PATH_H
#define CLI_GUEST_PATH_H

#include <stdbool.h>

/* "NAME:/path" cut in two; a host path with a colon in it has a '/' in front of that. */
bool guest_path_parse(const char *word, char name[64], const char **path);

#endif
