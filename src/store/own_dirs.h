/* SPDX-License-Identifier: MIT */
/*
 * State directories and caches, known again wherever somebody names one of them: who puts something
 * into one leaves a marker file in it and its path in a list of the user's. Both are there to keep a
 * guest out of them (share/rules.h), so what cannot be written is done without. A directory that was
 * only looked at has neither: it may be any directory of the user's.
 */
#ifndef STORE_OWN_DIRS_H
#define STORE_OWN_DIRS_H

#include <stdbool.h>

#include "base/error.h"

struct state_dir;

enum own_dir { OWN_STATE, OWN_CACHE, OWN_DIR_COUNT };
const char *own_dir_name(enum own_dir kind); /* "state directory" */

/*
 * Opens one, whose path is absolute. It must be the user's (a cache: or root's) and no one else may
 * write in it, or exchange it (trusted_dir.h), so that its path may be used as a name afterwards.
 * One that is made is closed to all others, its missing parents as well. ERR_NOT_FOUND without
 * create; ERR_DENIED, and nothing was made. within (NULL: none) is one that was opened and is open
 * still: where this one lies in it, what that lies in is not looked at again.
 */
int own_dir_open(const char *path, bool create, enum own_dir kind, const struct state_dir *within,
		 struct error *err);

/* From here on this process only looks at them: none is marked or listed, and to open one for
 * writing (create) fails, so that the cache is told nothing of digests and of the host. */
void own_dirs_look_only(void);
bool own_dirs_are_looked_at_only(void);

/* ERR_DENIED for a part of one that is not the user's, or that others can write. */
int own_dir_check(int fd, const char *path, enum own_dir kind, struct error *err);

/* dirfd was opened as one. In another one (the sessions' in the user's) it has no marker. */
void own_dir_note(int dirfd, enum own_dir kind);
bool own_dir_is_marked(int dirfd, enum own_dir kind);
/* The marked one that dirfd (O_PATH will do) is or lies in, malloc'd; NULL: it is in none. */
char *own_dir_above(int dirfd, enum own_dir *kind);

/* Every one that is known: defaults, environment, list; and where the list is. Ends at -1. */
typedef int own_dir_fn(void *data, const char *path, const char *what, struct error *err);
int own_dir_each(own_dir_fn *fn, void *data, struct error *err);

#endif
