/* SPDX-License-Identifier: MIT */
/*
 * Prints the files that a path names, for the host. Each file is a JSON object on one line of
 * stdout, as described in docs/agent-protocol.md. No link leads out of the root.
 */
#ifndef GUEST_LISTING_H
#define GUEST_LISTING_H

#include "base/error.h"

/* Prints the entries of the directory `path`. If `path` is not a directory, prints only that
 * file. */
int list_path(int root, const char *path, struct error *err);
/* Prints the one file or directory that `path` names. If it is a link, prints the link and not its
 * target. */
int stat_path(int root, const char *path, struct error *err);
/* Prints the last line, which says that the listing is complete, or why it failed. */
void listing_end(const struct error *result);

#endif
