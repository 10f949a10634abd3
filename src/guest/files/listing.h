/* SPDX-License-Identifier: MIT */
/*
 * Prints, for the host, what a file is or which entries a directory has. Each file is a JSON object
 * on one line of stdout, as described in docs/agent-protocol.md. Paths are resolved so that no link
 * leads out of the directory `root`.
 */
#ifndef GUEST_LISTING_H
#define GUEST_LISTING_H

#include "base/error.h"

/* Prints the entries of the directory `path`. If `path` is not a directory, prints only that
 * file. */
int list_path(int root, const char *path, struct error *err);
/* Prints the one file or directory that `path` names. If `path` names a symbolic link, prints the
 * link itself and not its target. */
int stat_path(int root, const char *path, struct error *err);
/* Prints the last line, which says that the listing is complete, or why it failed. */
void listing_end(const struct error *result);

#endif
