/* SPDX-License-Identifier: MIT */
/*
 * The user namespace in which a virtiofsd serves a shared directory. Two ids of the guest mean
 * something on the host: its agent's (1000) is whoever started the workspace, so that each can
 * change and remove what the other makes; its root is a subordinate id that owns nothing else, and
 * where root shares, nothing in another directory either. No
 * other id is mapped: in the guest such a file belongs to "nobody", and no file can be given away.
 *
 * The namespace is made before the cell and not by bwrap, under which no id could be mapped any
 * more: newuidmap(1), which an ordinary user needs, is set-user-ID.
 */
#ifndef BACKEND_PARTS_IDMAP_H
#define BACKEND_PARTS_IDMAP_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

#define IDMAP_AGENT 1000 /* in the guest; user and group */

/* Host ids. */
struct idmap {
	uid_t agent_uid, root_uid;
	gid_t agent_gid, root_gid;
};

/* For the user that we are, and the directory that is to be shared (-1: whether there can be one).
 * ERR_UNAVAILABLE with the next step where there are no subordinate ids
 * or no newuidmap. */
int idmap_find(int dir, struct idmap *out, struct error *err);
/* What root gives to the guest's root in this directory. */
unsigned long idmap_own(const struct stat *dir);
/* Every id as it is: of the root file systems of containers. */
int idmap_identity_namespace(int *fd, struct error *err);
/* A new user namespace with that map; its root may be entered by whoever we are. */
int idmap_namespace(const struct idmap *map, int *fd, struct error *err);

#endif
