/* SPDX-License-Identifier: MIT */
/* Sends a declared output to the host. */
#ifndef GUEST_OUTPUT_H
#define GUEST_OUTPUT_H

#include "base/error.h"

/*
 * Sends what `path` names below the directory `root` to stdout, like tree_send(). It is read with
 * the rights of this process, which are those of root, until a link on the way belongs to another
 * user. From there on it is read with the rights of that user alone, as root's own /etc/passwd and
 * /etc/group define the user. Otherwise a link could make the host receive a file that the link's
 * maker may not read.
 */
int output_send(const char *root, const char *path, struct error *err);

#endif
