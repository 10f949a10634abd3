/* SPDX-License-Identifier: MIT */
/* Declares the functions that implement the rules in rules.h. Each function implements some of the
 * rules. A function that refuses a directory returns -1 with ERR_INVALID. */
#ifndef STORE_SHARE_PARTS_H
#define STORE_SHARE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "store/share/rules.h"
#include "store/spot.h"

/* A directory that way.c has already checked, because it is on the path to another directory. The
 * result is kept for the next path. */
struct share_looked_dir {
	dev_t device;
	ino_t inode;
	bool in_share; /* the directory is the shared directory, or is inside it */
	/* The mount below the shared directory that shows this directory; NULL: there is no such
	 * mount. */
	const struct mount_row *row;
};
struct share_looked {
	struct share_looked_dir *dirs;
	size_t count;
};
void share_looked_free(struct share_looked *looked);

/* The arguments that all functions about one shared directory get. */
struct judge {
	const struct share_wish *wish;
	const struct spot *spot; /* the shared directory */
	const struct mountinfo *mounts;
	struct share_looked *looked;
};

/* places.c: refuses directories of the operating system, and file systems of the kernel. */
int share_rules_system(const struct judge *judge, struct error *err);
/* Refuses a directory that contains the home of a user of this host, or $HOME. */
int share_rules_homes(const struct judge *judge, struct error *err);
/* Refuses directories with the user's keys, and the user's home. Refuses nothing if `anyway` is set
 * in the wish. */
int share_rules_keys(const struct judge *judge, struct error *err);
/* own.c: refuses the state directories and caches of microagent. If the guest may write to the
 * share, also refuses the directories of the programs that microagent itself runs. */
int share_rules_own(const struct judge *judge, struct error *err);

/* --- what these functions use ---------------------------------------------------------------- */

#define SHARE_READ_ONLY "share it read-only (mode \"ro\"), or another directory"
#define SHARE_NEXT_STEP "share the one directory that the task needs"

/* A rule about the directory `path`, which applies only if the directory exists. `what` describes
 * the directory in an error. */
struct share_rule {
	const char *path, *what;
	enum reach reach;
};
int share_rule_apply(const struct judge *judge, const struct share_rule *rule, struct error *err);

/* How a guest that can write to the shared directory could change where a path leads. */
struct share_way {
	/* True if the path ends in the shared directory, or if the path does not exist yet and
	 * would be made in the shared directory. */
	bool ends_in_share;
	/* true: `name` is a link; false: `name` is no link, but the path enters the shared
	 * directory and leaves it again */
	bool by_link;
	char *name; /* the first such name that the guest could replace; NULL: there is no such
		     * name */
	/* The mount below the shared directory that shows a directory of the path; NULL: there is
	 * no such mount. */
	const struct mount_row *row;
};
/* Follows the path name by name, to its end or to the first name that does not exist. A relative
 * path starts at the working directory. The caller frees *out with share_way_free(). */
int share_way_look(const struct judge *judge, const char *path, struct share_way *out,
		   struct error *err);
void share_way_free(struct share_way *way);
#define auto_share_way __attribute__((cleanup(share_way_free)))
/* Refuses the shared directory if the guest could replace a name in `path`. Does not refuse it if
 * `path` ends in the shared directory: the caller decides about this case. `what` describes the
 * path in an error. */
int share_way_apply(const struct judge *judge, const char *path, const char *what,
		    struct error *err);

#endif
