/* SPDX-License-Identifier: MIT */
/*
 * The rules that decide which directories of the host may be shared with a guest. The same rules
 * apply to every command and request that names a directory. They refuse these directories:
 *
 * - The system's own: / /home /usr and the like themselves; /etc and the like with everything below
 *   (places.c has the table); and directories that contain the home of a user.
 * - File systems that the kernel makes up (proc, sysfs and the like), at any mount point.
 * - State directories and caches of microagent, everything in them, and directories that contain
 *   them: a guest that could write to them would decide for its own supervisor. Those above the
 *   shared directory are found by their markers. Those below it are found by the known paths
 *   (own_dirs.h). No tree is searched.
 * - Directories that contain the programs and libraries that run now, or a directory of PATH,
 *   unless the share is read-only.
 * - Directories with keys, everything in them, directories that contain them, and the user's own
 *   home, unless `anyway` is set.
 * - Directories that contain a name on the path to a directory of the last three groups, for
 *   example a link, unless the share is read-only (way.c).
 *
 * Directories are not compared by name, but by device and inode, and by their paths within their
 * file systems. So neither a link nor a bind mount leads around a rule. A refused directory must
 * not be mounted below the shared directory either.
 *
 * A directory of another user is refused, because only the user's own id has a meaning in a share.
 * Another user also cannot decide which directory a path means, by a link on that path
 * (own_links.h).
 *
 * The functions return a descriptor of the checked directory, and its path is not resolved a second
 * time. So the directory that was checked is the one that is used.
 */
#ifndef STORE_SHARE_RULES_H
#define STORE_SHARE_RULES_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

struct share_wish {
	const char *path;
	/* Path of the state directory of the workspace that gets the share. The workspace need not
	 * exist. NULL: the default state directory. */
	const char *state_dir;
	bool read_only;
	bool anyway; /* directories with keys, and the user's home, are allowed too */
	bool direct; /* no link on the path is followed, because another user or a guest could have
		      * made it */
	const json_t *programs; /* paths of the programs that the backend runs; the caller keeps the
				 * array */
};
/* Returns true if the path is inside a share to which the guest may write. `shares` is a list of
 * shares as in a config. The guest could put a link on such a path, so the caller opens it with
 * `direct`. The function compares only the texts of the paths, which are absolute. */
bool share_is_within(const char *path, const json_t *shares);
/*
 * Opens wish->path with O_PATH if it may be shared. Returns a descriptor, which the caller closes.
 * The messages of ERR_INVALID, ERR_DENIED and ERR_NOT_FOUND name the path and the next step. The
 * reason is REASON_SHARE_OF_KEYS if `anyway` would help.
 */
int share_open_allowed(const struct share_wish *wish, struct error *err);
/* Opens a directory for reading, so that this process can copy from it. Applies the rules, except
 * that any user may own the directory. Returns a descriptor, which the caller closes. */
int share_open_to_copy(const struct share_wish *wish, struct error *err);

#endif
