/* SPDX-License-Identifier: MIT */
/*
 * Prints the files that a path names, for the host: JSON objects on stdout, one in each line, as in
 * docs/agent-protocol.md. No link leads out of the root.
 */
#ifndef GUEST_LISTING_H
#define GUEST_LISTING_H

#include "base/error.h"

/* Prints the entries of the directory `path`. If `path` is not a directory, prints only the file
 * itself. */
int list_path(int root, const char *path, struct error *err);
/* Prints the file or directory `path`. If it is a link, prints the link itself. */
int stat_path(int root, const char *path, struct error *err);
/* Prints the last line: the end, or why the listing failed. */
void listing_end(const struct error *result);

#endif
