/* SPDX-License-Identifier: MIT */
/*
 * Autorun files: files that a program of the host runs or obeys when a person only enters their
 * directory, opens it in an editor, or starts a usual command in it (`git status`, `make`). A guest
 * that may write to a shared directory can write such files. Programs of the host would then run
 * commands of the guest. autorun_find() finds the autorun files that changed, and autorun_of_path()
 * says whether a path is that of an autorun file.
 */
#ifndef STORE_SHARE_AUTORUN_H
#define STORE_SHARE_AUTORUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* The largest number of levels of directories below the shared directory that are searched. */
#define AUTORUN_LEVELS 100

/* What a search of one directory has found. */
struct autorun_found {
	/* An array of {"path","by"}, sorted by path. "path" is relative to the searched directory;
	 * a byte of the path that is not UTF-8 is replaced by U+FFFD. "by" is a short sentence
	 * about the program that runs or obeys the file, such as "make runs it". */
	json_t *files;
	bool more; /* more than LIMIT_AUTORUN_FILES files were found, and `files` has only
		    * LIMIT_AUTORUN_FILES of them */
	/* True if the search left out a directory: there were more than AUTORUN_LEVELS levels or
	 * more than LIMIT_AUTORUN_ENTRIES names, or a directory could not be read. */
	bool incomplete;
};

/*
 * Searches the directory `dir` and everything below it for autorun files that changed since
 * `since_ns`, a time of CLOCK_REALTIME in nanoseconds. The time of a change is that of the inode
 * (ctime), which nobody can set. A file does not count as changed if only a directory above it was
 * moved. Follows no link and enters no other file system. The caller closes `dir`, and releases
 * out->files.
 */
int autorun_find(int dir, int64_t since_ns, struct autorun_found *out, struct error *err);

/*
 * Returns the clause "by" of a path alone, without a look at any file; NULL: it is not the path of an
 * autorun file. `path` is relative to the shared directory, and `is_dir` says that it is a directory.
 * Upper and lower case count as equal, because the host's file system may take them for equal. A
 * repository is known by the name ".git" alone; autorun_in_repository() is for the others.
 */
const char *autorun_of_path(const char *path, bool is_dir);
/* Returns the clause "by" of a file in a git repository, whose path `within` is relative to the
 * repository's own directory (".git", or a bare repository); NULL: git neither runs nor obeys it. */
const char *autorun_in_repository(const char *within);

#endif
