/* SPDX-License-Identifier: MIT */
/* Sends a declared output of the guest to the host. */
#ifndef GUEST_OUTPUT_H
#define GUEST_OUTPUT_H

#include "base/error.h"

/*
 * Sends the file or directory at `path` below the directory `root` to stdout, like tree_send().
 * This process runs as root. If a link on the way belongs to another user, the process gives up
 * root's rights. It then has only the rights of that user, as root's /etc/passwd and /etc/group
 * define them. Otherwise a user could make a link that gives the host a file which this user may
 * not read.
 */
int output_send(const char *root, const char *path, struct error *err);

#endif
