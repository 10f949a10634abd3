/* SPDX-License-Identifier: MIT */
/*
 * Which directories of the host may be shared with a guest: the same rules wherever one is named.
 *
 * - The system's own: / /home /usr and the like themselves, /etc and the like with everything below
 *   (places.c has the table), and what holds somebody's home.
 * - What the kernel makes up (proc, sysfs and the like), wherever it is mounted.
 * - State directories and caches of microagent, with what is in them and what holds them: a guest
 *   that could write there would be its own supervisor. By their markers upwards, by what is known
 *   downwards (own_dirs.h); no tree is walked.
 * - What holds the programs and libraries that run now, or a directory of PATH, unless it is shared
 *   read-only.
 * - Stores of keys, with what is in them and what holds them, and our own home, unless `anyway`.
 * - What holds a name on the way to one of the last three, as a link, unless it is shared read-only
 *   (way.c).
 *
 * They are compared as directories and not as names: by device and inode, and by their places in
 * their file systems, so that neither a link nor a bind mount leads around a rule. Nor may one of
 * them be mounted below.
 *
 * Nothing of another user: nobody else's id means anything in a share. Nor has another user a say
 * in which directory it is, by a link on the way to it (own_links.h).
 *
 * What was looked at is what is used: the answer is a descriptor, and no name is resolved again.
 */
#ifndef STORE_SHARE_RULES_H
#define STORE_SHARE_RULES_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

struct share_wish {
	const char *path;
	/* Of the workspace that is to have it, be it there or not; NULL: the default one. */
	const char *state_dir;
	bool read_only;
	bool anyway;		/* also a store of keys, or the home */
	bool direct;		/* no link may be on the way: somebody else could set one */
	const json_t *programs; /* paths of those that the backend runs */
};
/* Whether a directory of a config's shares that the guest may write to holds the path, so that the
 * guest could put a link on its way: such a path is opened `direct`. By the words of the paths, which
 * are absolute. */
bool share_is_within(const char *path, const json_t *shares);
/*
 * Opens wish->path (O_PATH) if it may be shared. ERR_INVALID, ERR_DENIED and ERR_NOT_FOUND name the
 * path and the next step; REASON_SHARE_OF_KEYS where `anyway` would help.
 */
int share_dir_open(const struct share_wish *wish, struct error *err);
/* One of which we ourselves copy, by our own rights, whoever's it is. The descriptor reads it. */
int share_dir_open_ours(const struct share_wish *wish, struct error *err);

#endif
