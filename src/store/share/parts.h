/* SPDX-License-Identifier: MIT */
/* The rules of rules.h, in parts. Each refuses with ERR_INVALID. */
#ifndef STORE_SHARE_PARTS_H
#define STORE_SHARE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "store/share/rules.h"
#include "store/spot.h"

/* Directories that were looked at on the ways of way.c. */
struct share_looked_dir {
	dev_t device;
	ino_t inode;
	bool in_share;		     /* it is the shared directory, or lies in it */
	const struct mount_row *row; /* or is shown by this mount below it */
};
struct share_looked {
	struct share_looked_dir *dirs;
	size_t count;
};
void share_looked_free(struct share_looked *looked);

struct judge {
	const struct share_wish *wish;
	const struct spot *spot;
	const struct mountinfo *mounts;
	struct share_looked *looked;
};

/* places.c: the system's own directories, and the kernel's own file systems. */
int share_rules_system(const struct judge *judge, struct error *err);
/* What holds the homes of this host's people, and ours if we are none of them. */
int share_rules_homes(const struct judge *judge, struct error *err);
/* The stores of our keys, and our home. */
int share_rules_keys(const struct judge *judge, struct error *err);
/* own.c: state directories, caches, and the programs that run now. */
int share_rules_own(const struct judge *judge, struct error *err);

/* --- what the parts are made of -------------------------------------------------------------- */

#define SHARE_READ_ONLY "share it read-only (mode \"ro\"), or another directory"
#define SHARE_NEXT_STEP "share the one directory that the task needs"

/* Of the directory `path`, if there is one; what: that in words. */
struct share_rule {
	const char *path, *what;
	enum reach reach;
};
int share_rule_apply(const struct judge *judge, const struct share_rule *rule, struct error *err);

/* What a guest that may write to the directory has to say about where a path leads. */
struct share_way {
	bool ends_in_share; /* what it names is there, or will be */
	bool by_link;	    /* name is a link; else it is passed and left again */
	char *name;	    /* the one in whose place the guest could put another; or NULL */
	const struct mount_row *row; /* of a mount below the directory that shows a part; or NULL */
};
/* Goes it name by name, as far as there is anything; a relative path is one from where we are. out
 * is to be freed. */
int share_way_look(const struct judge *judge, const char *path, struct share_way *out,
		   struct error *err);
void share_way_free(struct share_way *way);
#define auto_share_way __attribute__((cleanup(share_way_free)))
/* Refuses where another name could be put on the way to `path`, and it does not end there; what:
 * that in words. */
int share_way_apply(const struct judge *judge, const char *path, const char *what,
		    struct error *err);

#endif
