/* SPDX-License-Identifier: MIT */
/*
 * The digest of the root file system. Until a guest gets the file system for the first time, the
 * digest must be the one that prepare recorded; otherwise the file was changed. After that the
 * guest writes to the file. The present digest is then known if no process of the workspace lives,
 * and the disk has not changed since it was hashed, according to the memory of digests
 * (store/digests.h). The guard hashes the disk when a machine has ended in order, and the command
 * inspect hashes it if asked to. If the present digest is not known, the answer has the last
 * recorded digest and its time, which is the time of such an inspect or of a start (rootfs.json).
 */
#ifndef SUPERVISOR_ROOTFS_DIGEST_H
#define SUPERVISOR_ROOTFS_DIGEST_H

#include <stdbool.h>
#include <time.h>

#include "contract/state.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/manifest.h"

/* Returns whether the root file system must have the digest that prepare recorded. `state` is the
 * state of the workspace. */
bool rootfs_is_enforced(const struct workspace *ws, enum state state);
/* Puts the digest of a workspace that was started into `files`: the present digest if the memory of
 * digests knows it, else the last recorded digest and its time. `state` is the state of the
 * workspace. The function hashes nothing. */
int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 enum state state, struct boot_files *files, struct error *err);
/* Computes the present digest of a workspace that was started. `state` is the state of the
 * workspace. Records the digest as the last digest, and puts it into `files`. */
int rootfs_digest_renew(const struct workspace *ws, enum state state, struct boot_files *files,
			struct error *err);
/* Records the digest in `files` as the last digest. Called when the disk is about to be changed. */
void rootfs_digest_keep(const struct workspace *ws, const struct boot_files *files);

/* Tells whether a guest gets the root file system for the first time. */
struct first_start {
	bool is_first;
	struct timespec modified; /* the file's mtime before the start */
};
/* Records the digest that prepare has recorded as the last digest. Because of this record a guest
 * counts as having changed the disk (workspace_was_started()). Called right before the machine is
 * made. `fd` is the root file system. */
int rootfs_hand_over(const struct workspace *ws, const struct manifest *manifest, int fd,
		     struct first_start *out, struct error *err);
/* Writes the time of the last recorded digest (RFC 3339) to `out`. If no digest is recorded, as in
 * a workspace that was removed meanwhile, writes the present time. */
void rootfs_digest_time(const struct workspace *ws, char out[CLOCK_TEXT]);
/* If nothing was written to the file, for example because the VMM could not start, removes the
 * record of rootfs_hand_over(). The digest that prepare recorded must then be right again. Called
 * when the machine has ended. */
void rootfs_take_back(const struct workspace *ws, int fd, struct first_start *first);

#endif
