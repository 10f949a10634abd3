/* SPDX-License-Identifier: MIT */
/*
 * The digest of the root file system. Before a guest gets the file system, the digest must be the
 * one that prepare recorded; otherwise the file was changed. After that the guest writes to the
 * file. The present digest is known if nothing of the workspace lives, and the disk has not changed
 * since it was hashed, as the memory of digests tells (store/digests.h). The disk is hashed by the
 * guard of a machine that has ended in order, and by the command inspect if it is asked to. If the
 * present digest is not known, the answer has the last digest with its time: the time of such an
 * inspect, or of a start (rootfs.json).
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
 * workspace. Hashes nothing. */
int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 enum state state, struct boot_files *files, struct error *err);
/* Computes a new digest of a workspace that was started and is in this state. Records it as the
 * last digest, and puts it into `files`. */
int rootfs_digest_renew(const struct workspace *ws, enum state state, struct boot_files *files,
			struct error *err);
/* Records the digest in `files` as the last digest. Called when the disk is about to change. */
void rootfs_digest_keep(const struct workspace *ws, const struct boot_files *files);

/* The fact whether this is the first time that a guest gets the root file system. */
struct first_start {
	bool is_first;
	struct timespec modified; /* the file's mtime before the start */
};
/* Records the digest of prepare as the last digest. This record says that a guest may have changed
 * the disk (workspace_was_started()). Called right before the VM is made. `fd` is the root file
 * system. */
int rootfs_hand_over(const struct workspace *ws, const struct manifest *manifest, int fd,
		     struct first_start *out, struct error *err);
/* Writes the time of the last recorded digest (RFC 3339). Writes the present time if none is
 * recorded, as in a workspace that was removed meanwhile. */
void rootfs_digest_time(const struct workspace *ws, char out[CLOCK_TEXT]);
/* Removes the record of rootfs_hand_over() if nothing was written to the file, for example because
 * the VMM could not start: the digest of prepare is enforced again then. Called when the VM has
 * ended. */
void rootfs_take_back(const struct workspace *ws, int fd, struct first_start *first);

#endif
