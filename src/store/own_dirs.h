/* SPDX-License-Identifier: MIT */
/*
 * Recognising the state directories and caches of microagent, whatever path leads to them. A
 * program that writes into such a directory puts a marker file into it and adds its path to the
 * user's list. The marker and the list keep guests out of the directory (share/rules.h). If the
 * marker or the list cannot be written, the program goes on without it. A directory that a program
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
 * cache may belong to root too. Nobody else may write in it or replace it (trusted_dir.h), so the
 * caller may use its path again. With `create` a missing directory and its missing parents are made
 * (0700). Without `create` a missing directory gives ERR_NOT_FOUND. ERR_DENIED: the directory may
 * not be used, or own_dirs_look_only() was called and `create` is set. ERR_INVALID: the path is no
 * directory. `within` is a state directory that is open (NULL: none). If the path lies in `within`,
 * the directories above `within` are not checked again.
 */
int own_dir_open(const char *path, bool create, enum own_dir kind, const struct state_dir *within,
		 struct error *err);

/* Makes this process only read state directories and caches from here on. It marks and lists none
 * of them. To open a directory with `create` fails, so the process also records nothing about
 * digests and the host in the cache. */
void own_dirs_look_only(void);
bool own_dirs_are_looked_at_only(void);

/* Checks a part of a state directory or cache. ERR_DENIED: the part does not belong to the user, or
 * other users can write to it. */
int own_dir_check(int fd, const char *path, enum own_dir kind, struct error *err);

/* Marks and lists `dirfd` as a directory of that kind. Does nothing for a directory that lies in a
 * marked one, for example sessions/ in a state directory. */
void own_dir_note(int dirfd, enum own_dir kind);
/* Returns whether the directory has the marker of that kind. A marker counts only if it belongs to
 * the user or root. */
bool own_dir_is_marked(int dirfd, enum own_dir kind);
/* Returns the path of the marked directory that is `dirfd` or holds `dirfd`; NULL if there is none.
 * `dirfd` may be opened with O_PATH. The caller frees the path. */
char *own_dir_above(int dirfd, enum own_dir *kind);

/* Calls `fn` for the path of every known state directory and cache: the defaults, those that the
 * environment names, and those of the user's list. Calls `fn` also for the directory that has the
 * list. A path may not exist. The first -1 of `fn` ends the calls, and is returned. */
typedef int own_dir_fn(void *data, const char *path, const char *what, struct error *err);
int own_dir_each(own_dir_fn *fn, void *data, struct error *err);

#endif
