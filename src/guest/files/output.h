/* SPDX-License-Identifier: MIT */
/* Sends a declared output to the host. */
#ifndef GUEST_OUTPUT_H
#define GUEST_OUTPUT_H

#include "base/error.h"

/*
 * Sends the file or directory at `path` below the directory `root` to stdout, like tree_send().
 * This process runs as root. If a link on the way belongs to another user, it gives up root's
 * rights, and goes on with only the rights of that user, as /etc/passwd and /etc/group of root
 * define them. Otherwise a user could make a link by which the host gets a file that this user may
 * not read.
 */
int output_send(const char *root, const char *path, struct error *err);

#endif
