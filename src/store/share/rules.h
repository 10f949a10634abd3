/* SPDX-License-Identifier: MIT */
/*
 * The rules that decide which directories of the host may be shared with a guest. The same rules
 * apply to every command and request that names a directory. These directories are refused:
 *
 * - Of the system: / /home /usr and the like themselves; /etc and the like with everything below
 *   (places.c has the table); and directories that contain the home of a user.
 * - File systems that the kernel makes up (proc, sysfs and the like), at any mount point.
 * - State directories and caches of microagent, everything in them, and directories that contain
 *   them: a guest that could write to them would control its own supervisor. Directories above the
 *   shared directory are found by their markers, and directories below it by the known paths
 *   (own_dirs.h). No directory is searched.
 * - Directories that contain the programs and libraries that run now, or a directory of PATH,
 *   unless the share is read-only.
 * - Directories with keys, everything in them, directories that contain them, and the user's own
 *   home, unless `anyway` is set.
 * - Directories that contain a name on the path to a directory of the last three groups, for
 *   example a link, unless the share is read-only (way.c).
 *
 * Directories are not compared by name, but by device and inode, and by their paths within their
 * file systems. So a rule applies to a directory by whatever link or bind mount it is named. A
 * refused directory must not be mounted below the shared directory either.
 *
 * A directory of another user is refused, because a share can map only the user's own id. A link of
 * another user on the path is not followed, so no other user decides which directory is shared
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
	bool direct; /* a path with a link is refused, because another user or a guest could have
		      * made the link */
	const json_t *programs; /* array of the paths of the programs that the backend runs; the
				 * caller releases it */
};
/* Returns true if the path is inside a share to which the guest may write. `shares` is a list of
 * shares as in a config. The guest could put a link on such a path, so the caller then opens the
 * path with `direct`. The function compares only the texts of the paths, which must be absolute. */
bool share_is_within(const char *path, const json_t *shares);
/*
 * Opens wish->path with O_PATH if it may be shared. Returns a descriptor, which the caller closes.
 * The messages of ERR_INVALID, ERR_DENIED and ERR_NOT_FOUND name the path and the next step. The
 * reason is REASON_SHARE_OF_KEYS if `anyway` would help.
 */
int share_open_allowed(const struct share_wish *wish, struct error *err);
/* Opens a directory for reading, so that this process can copy from it. Applies the same rules, but
 * accepts a directory of another user too. Returns a descriptor, which the caller closes. */
int share_open_to_copy(const struct share_wish *wish, struct error *err);

#endif
