/* SPDX-License-Identifier: MIT */
/* A declared output, for the host. */
#ifndef GUEST_OUTPUT_H
#define GUEST_OUTPUT_H

#include "base/error.h"

/*
 * Sends what `path` names below the directory `root` to stdout, as tree_send() does. It is read with
 * this process's own rights, those of root, until a link on the way is another user's: from there on
 * it is read with the rights of that user alone, as root's own /etc/passwd and /etc/group know him.
 * A link could otherwise have the host given what its maker may not read.
 */
int output_send(const char *root, const char *path, struct error *err);

#endif
