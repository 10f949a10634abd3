/* SPDX-License-Identifier: MIT */
/*
 * The user namespace in which a virtiofsd serves a shared directory. Two ids of the guest are
 * mapped to ids of the host. The id 1000, which the guest's commands have, is the user who started
 * the workspace, so the user and the guest can change and remove each other's files. The guest's
 * root is a subordinate id that owns no other file; if root shares directories, the guest's root is
 * a different id in each directory. No other id is mapped: a file of such an id belongs to "nobody"
 * in the guest, and no file can be given to it.
 *
 * The namespace is made before the cell, and not by bwrap. An ordinary user needs newuidmap(1) to
 * map ids; it is set-user-ID, and would not work under bwrap.
 */
#ifndef BACKEND_PARTS_IDMAP_H
#define BACKEND_PARTS_IDMAP_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

#define IDMAP_AGENT 1000 /* the number of the guest's user, and of its group */

/* The ids of the host for the guest's user 1000 (agent_) and the guest's root (root_). */
struct idmap {
	uid_t agent_uid, root_uid;
	gid_t agent_gid, root_gid;
};

/* Finds the ids for the user of this process and the directory `dir`, which will be shared. If
 * `dir` is -1, only checks whether a directory could be shared. ERR_UNAVAILABLE: there are no
 * subordinate ids, or there is no newuidmap; the message has the next step. */
int idmap_find(int dir, struct idmap *out, struct error *err);
/* Returns the id that root gives to the guest's root in this directory. */
unsigned long idmap_own(const struct stat *dir);
/* Makes a user namespace that maps every id to itself, for the root file systems of containers. */
int idmap_identity_namespace(int *fd, struct error *err);
/* Makes a new user namespace that maps the two ids of `map`. The user of this process may enter it
 * as its root. */
int idmap_namespace(const struct idmap *map, int *fd, struct error *err);

#endif
