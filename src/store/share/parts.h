/* SPDX-License-Identifier: MIT */
/* The rules of rules.h, in parts. Each refuses with ERR_INVALID. */
#ifndef STORE_SHARE_PARTS_H
#define STORE_SHARE_PARTS_H

#include "store/share/rules.h"
#include "store/spot.h"

struct judge {
	const struct share_wish *wish;
	const struct spot *spot;
	const struct mountinfo *mounts;
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

#define SHARE_NEXT_STEP "share the one directory that the task needs"

/* Of the directory `path`, if there is one; what: that in words. */
struct share_rule {
	const char *path, *what;
	enum reach reach;
};
int share_rule_apply(const struct judge *judge, const struct share_rule *rule, struct error *err);

#endif
