/* SPDX-License-Identifier: MIT */
/*
 * The rules that say which directories of the host may be shared with a guest. The same rules hold
 * for every command and request that names a directory. They refuse these directories:
 *
 * - The system's own: / /home /usr and the like themselves; /etc and the like with everything below
 *   (places.c has the table); and directories that hold the home of a user.
 * - File systems that the kernel makes up (proc, sysfs and the like), wherever they are mounted. -
 * State directories and caches of microagent, everything in them, and directories that hold them:
 *   a guest that could write to them would decide for its own supervisor. Those above the shared
 *   directory are found by their markers, those below it by the known paths (own_dirs.h). No tree
 *   is searched.
 * - Directories that hold the programs and libraries that run now, or a directory of PATH, unless
 *   the share is read-only.
 * - Stores of keys, everything in them, directories that hold them, and our own home, unless
 *   `anyway`.
 * - Directories that hold a name on the way to a directory of the three groups before, for example
 *   a link, unless the share is read-only (way.c).
 *
 * Directories are compared as directories and not as names: by device and inode, and by their
 * places in their file systems. So neither a link nor a bind mount leads around a rule. A refused
 * directory may not be mounted below the shared one either.
 *
 * A directory of another user is refused, since in a share only the user's own id has a meaning.
 * Another user also cannot decide which directory a path means, by a link on the way to that
 * directory (own_links.h).
 *
 * The directory that was checked is the one that is used: the functions return a descriptor, and
 * the path is not resolved again.
 */
#ifndef STORE_SHARE_RULES_H
#define STORE_SHARE_RULES_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

struct share_wish {
	const char *path;
	/* The state directory of the workspace that gets the share. The workspace need not exist.
	 * NULL: the default one. */
	const char *state_dir;
	bool read_only;
	bool anyway; /* a store of keys and the user's home are allowed too */
	bool direct; /* no link is followed: another user or a guest could have made it */
	const json_t *programs; /* paths of the programs that the backend runs */
};
/* Returns whether the path lies in a share to which the guest may write. `shares` is a list of
 * shares as in a config. The guest could put a link on the way to such a path, so the caller opens
 * the path with `direct`. Only the texts of the paths, which are absolute, are compared. */
bool share_is_within(const char *path, const json_t *shares);
/*
 * Opens wish->path (O_PATH) if it may be shared. ERR_INVALID, ERR_DENIED and ERR_NOT_FOUND name the
 * path and the next step. The reason is REASON_SHARE_OF_KEYS if `anyway` would help.
 */
int share_open_allowed(const struct share_wish *wish, struct error *err);
/* Opens a directory for reading, from which this process itself will copy. The rules hold, but any
 * user may own the directory. */
int share_open_to_copy(const struct share_wish *wish, struct error *err);

#endif
