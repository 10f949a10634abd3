/* SPDX-License-Identifier: MIT */
/*
 * What a path names, for the host: JSON objects on stdout, a line each, as docs/agent-protocol.md
 * has them. No link leads out of the root.
 */
#ifndef GUEST_LISTING_H
#define GUEST_LISTING_H

#include "base/error.h"

/* The entries of the directory path, or the one thing that is no directory. */
int list_path(int root, const char *path, struct error *err);
/* What path names itself, also where it is a link. */
int stat_path(int root, const char *path, struct error *err);
/* The last line: the end, or why there is none. */
void listing_end(const struct error *result);

#endif
