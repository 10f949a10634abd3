/* SPDX-License-Identifier: MIT */
/*
 * The user namespace in which a virtiofsd serves a shared directory. Two ids of the guest are
 * mapped to ids of the host.
 *
 * The id 1000, which the guest's commands have, is mapped to the user who has started the
 * workspace. So this user and the guest can change and remove each other's files. The guest's root
 * is mapped to a subordinate id, which owns no other file. If the host's root shares directories,
 * this id is different for each directory. No other id is mapped. A file of any other id belongs to
 * "nobody" in the guest, and no file can be given to such an id.
 *
 * The namespace is made before the cell, and not by bwrap. An ordinary user needs newuidmap(1) to
 * map ids. newuidmap is set-user-ID, and would not work under bwrap.
 */
#ifndef BACKEND_PARTS_IDMAP_H
#define BACKEND_PARTS_IDMAP_H

#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

#define IDMAP_AGENT 1000 /* the id of the guest's user, and of its group */

/* The ids of the host to which ids of the guest are mapped. The members agent_uid and agent_gid are
 * for the guest's user 1000, root_uid and root_gid for the guest's root. */
struct idmap {
	uid_t agent_uid, root_uid;
	gid_t agent_gid, root_gid;
};

/* Finds the ids for the user of this process and the directory `dir`, which will be shared. If
 * `dir` is -1, only checks whether a directory could be shared. Fails with ERR_UNAVAILABLE if there
 * are no subordinate ids, or if there is no newuidmap. The message has the next step. */
int idmap_find(int dir, struct idmap *out, struct error *err);
/* Returns the id of the host that the guest's root has in this directory, if the host's root
 * shares the directory. */
unsigned long idmap_own(const struct stat *dir);
/* Makes a user namespace that maps every id to itself. The namespace is for the root file systems
 * of containers. */
int idmap_identity_namespace(int *fd, struct error *err);
/* Makes a user namespace that maps the two ids of `map`. The user of this process may enter it as
 * its root. */
int idmap_namespace(const struct idmap *map, int *fd, struct error *err);

#endif
