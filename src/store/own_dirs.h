/* SPDX-License-Identifier: MIT */
/*
 * Recognising state directories and caches wherever somebody names one. A program that writes into
 * such a directory leaves a marker file in it and adds its path to a list of the user's. The marker
 * and the list keep a guest out of the directory (share/rules.h). If one of them cannot be written,
 * the program goes on without it. A directory that was only looked at has neither, because it may
 * be any directory of the user's.
 */
#ifndef STORE_OWN_DIRS_H
#define STORE_OWN_DIRS_H

#include <stdbool.h>

#include "base/error.h"

struct state_dir;

enum own_dir { OWN_STATE, OWN_CACHE, OWN_DIR_COUNT };
const char *own_dir_name(enum own_dir kind); /* "state directory" */

/*
 * Opens a state directory or a cache by its absolute path. The directory must belong to the user (a
 * cache: or to root). Nobody else may write in it or exchange it (trusted_dir.h), so its path may
 * be used as a name afterwards. With `create` a missing directory and its missing parents are made,
 * closed to all others. Without `create` a missing directory gives ERR_NOT_FOUND. ERR_DENIED: the
 * directory may not be used, and nothing was made. `within` is a state directory that is open
 * (NULL: none). If the path lies in `within`, the directories above `within` are not checked again.
 */
int own_dir_open(const char *path, bool create, enum own_dir kind, const struct state_dir *within,
		 struct error *err);

/* Makes this process only look at state directories and caches from here on. It marks and lists
 * none of them. Opening one for writing (create) fails, so the cache learns nothing about digests
 * and the host. */
void own_dirs_look_only(void);
bool own_dirs_are_looked_at_only(void);

/* Checks a part of a state directory or cache. ERR_DENIED: the part does not belong to the user, or
 * others can write to it. */
int own_dir_check(int fd, const char *path, enum own_dir kind, struct error *err);

/* Marks and lists dirfd as a directory of that kind. A directory within another one (the sessions'
 * in the user's) gets no marker. */
void own_dir_note(int dirfd, enum own_dir kind);
bool own_dir_is_marked(int dirfd, enum own_dir kind);
/* Returns the path of the marked directory that is dirfd or holds dirfd; NULL if there is none.
 * dirfd may be opened with O_PATH. The caller frees the path. */
char *own_dir_above(int dirfd, enum own_dir *kind);

/* Calls fn for every known state directory and cache: the defaults, those of the environment and
 * those of the list. Calls fn also for the list's own directory. The first -1 of fn ends the calls.
 */
typedef int own_dir_fn(void *data, const char *path, const char *what, struct error *err);
int own_dir_each(own_dir_fn *fn, void *data, struct error *err);

#endif
