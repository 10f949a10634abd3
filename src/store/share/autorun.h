/* SPDX-License-Identifier: MIT */
/*
 * Autorun files: files that a program of the host runs, or obeys, when a person only enters the
 * directory, opens it in an editor, or starts a usual command there (`git status`, `make`). A guest
 * that may write to a shared directory can write such files, and so have its own commands run on
 * the host. This file finds those that changed.
 */
#ifndef STORE_SHARE_AUTORUN_H
#define STORE_SHARE_AUTORUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The most levels of directories below the shared one that are searched. */
#define AUTORUN_LEVELS 100

/* What a search of one directory has found. */
struct autorun_found {
	/* An array of {"path","by"}, sorted by path. "path" is relative to the searched directory;
	 * bytes of it that are not UTF-8 are U+FFFD. "by" says which program runs or obeys the
	 * file, as a part of a sentence. */
	json_t *files;
	bool more; /* there are more such files than LIMIT_AUTORUN_FILES */
	/* A part was not searched: the tree is deeper than AUTORUN_LEVELS, has more than
	 * LIMIT_AUTORUN_ENTRIES names, or has a directory that could not be read. */
	bool incomplete;
};

/*
 * Searches the directory `dir` and everything below it for autorun files that changed since
 * `since_ns`, a time of CLOCK_REALTIME in nanoseconds. The time of a change is that of the inode
 * (ctime), which nobody can set. So a file that was only moved together with its directory counts
 * as unchanged. Follows no link and enters no other file system. Takes over nothing: the caller
 * closes `dir`, and frees out->files.
 */
int autorun_find(int dir, int64_t since_ns, struct autorun_found *out, struct error *err);

#endif
