/* SPDX-License-Identifier: MIT */
/* Sends a declared output of the guest to the host. */
#ifndef GUEST_OUTPUT_H
#define GUEST_OUTPUT_H

#include "base/error.h"

/*
 * Sends the file or directory at `path` below the directory `root` to stdout, like tree_send().
 * This process runs as root. If a link in `path` belongs to another user, the process gives up
 * root's rights, and continues with the rights of that user. The files etc/passwd and etc/group
 * below `root` define these rights. Otherwise a user could make a link to a file that the user may
 * not read, and the host would get this file.
 */
int output_send(const char *root, const char *path, struct error *err);

#endif
