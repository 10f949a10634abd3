/* SPDX-License-Identifier: MIT */
/*
 * Recognises the state directories and caches of microagent, whatever path leads to them. A program
 * that writes to such a directory makes a marker file in it, and adds its path to the user's list.
 * Because of the marker and the list, such a directory is not shared with a guest (share/rules.h).
 * If the marker or the list cannot be written, the program continues. A directory that a program
 * only reads gets no marker and is not listed, because it may be any directory of the user.
 */
#ifndef STORE_OWN_DIRS_H
#define STORE_OWN_DIRS_H

#include <stdbool.h>

#include "base/error.h"

struct state_dir;

enum own_dir { OWN_STATE, OWN_CACHE, OWN_DIR_COUNT };
const char *own_dir_name(enum own_dir kind); /* "state directory" */

/*
 * Opens a state directory or a cache by its absolute path. The directory must belong to the user; a
 * cache may also belong to root. No other user may be able to write in it or to replace it
 * (trusted_dir.h), so the caller may use its path later too. With `create`, a missing directory and
 * its missing parents are made (0700). Without `create`, a missing directory is an error
 * (ERR_NOT_FOUND). ERR_DENIED: the directory must not be used, or own_dirs_look_only() was called
 * and `create` is set. ERR_INVALID: the path does not lead to a directory. `within` is an open
 * state directory, or NULL. If the path is in `within`, the directories on the path to `within` are
 * not checked a second time.
 */
int own_dir_open(const char *path, bool create, enum own_dir kind, const struct state_dir *within,
		 struct error *err);

/* From this call on, this process only reads state directories and caches. The process marks and
 * lists none of them. Opening a directory with `create` fails, so the process writes no digests and
 * no facts about the host to the cache either. */
void own_dirs_look_only(void);
bool own_dirs_are_looked_at_only(void);

/* Checks a directory or file inside a state directory or cache. ERR_DENIED: it does not belong to
 * the user, or other users can write to it. */
int own_dir_check(int fd, const char *path, enum own_dir kind, struct error *err);

/* Marks and lists `dirfd` as a directory of that kind. Does nothing if a directory above it is
 * marked: for example, sessions/ in a state directory is not marked. */
void own_dir_note(int dirfd, enum own_dir kind);
/* Returns true if the directory has the marker of that kind. A marker counts only if it belongs to
 * the user or to root. */
bool own_dir_is_marked(int dirfd, enum own_dir kind);
/* Returns the path of the marked directory that is `dirfd` or contains `dirfd`, or NULL if there is
 * none. The caller frees the path. `dirfd` may be a descriptor that was opened with O_PATH. */
char *own_dir_above(int dirfd, enum own_dir *kind);

/* Calls `fn` for the path of every known state directory and cache: the default directories, the
 * directories that environment variables name, and the directories in the user's list. Also calls
 * `fn` for the directory that contains the list. A path need not exist. If `fn` returns -1, no
 * further path is passed, and own_dir_each() returns -1. */
typedef int own_dir_fn(void *data, const char *path, const char *what, struct error *err);
int own_dir_each(own_dir_fn *fn, void *data, struct error *err);

#endif
