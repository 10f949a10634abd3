/* SPDX-License-Identifier: MIT */
/*
 * The user namespace in which a virtiofsd serves a shared directory. Two ids of the guest mean
 * something on the host. The id of the guest's agent (1000) is the user who started the workspace,
 * so that each can change and remove what the other makes. The guest's root is a subordinate id
 * that owns nothing else. If root shares, that id owns nothing in another directory either. No
 * other id is mapped: such a file belongs to "nobody" in the guest, and no file can be given away.
 *
 * The namespace is made before the cell, and not by bwrap. Under bwrap no id could be mapped any
 * more: newuidmap(1), which an ordinary user needs, is set-user-ID.
 */
#ifndef BACKEND_PARTS_IDMAP_H
#define BACKEND_PARTS_IDMAP_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

#define IDMAP_AGENT 1000 /* in the guest; user and group */

/* The ids on the host. */
struct idmap {
	uid_t agent_uid, root_uid;
	gid_t agent_gid, root_gid;
};

/* Finds the ids for our own user and the directory to be shared (-1: finds whether there can be a
 * share). ERR_UNAVAILABLE with the next step: there are no subordinate ids, or no newuidmap. */
int idmap_find(int dir, struct idmap *out, struct error *err);
/* Returns the id that root gives to the guest's root in this directory. */
unsigned long idmap_own(const struct stat *dir);
/* Makes a user namespace that maps every id to itself, for the root file systems of containers. */
int idmap_identity_namespace(int *fd, struct error *err);
/* Makes a new user namespace with this map. Our own user may enter it as its root. */
int idmap_namespace(const struct idmap *map, int *fd, struct error *err);

#endif
