/* SPDX-License-Identifier: MIT */
/*
 * The digest of the root file system. Until a guest gets the file system, the digest is the one
 * that prepare recorded, or somebody has changed the file. From then on the guest writes to it. The
 * digest is of now if nothing of the workspace lives and the disk has not changed since it was
 * hashed, which the memory of digests knows (store/digests.h). The guard of a machine that has
 * ended in order has the disk hashed, and so does an inspect that was asked for it. Otherwise the
 * last digest is told, with its time: that of such an inspect or of a start (rootfs.json).
 */
#ifndef SUPERVISOR_ROOTFS_DIGEST_H
#define SUPERVISOR_ROOTFS_DIGEST_H

#include <stdbool.h>
#include <time.h>

#include "contract/state.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/manifest.h"

/* Returns whether the root file system must be as it was recorded, for a workspace in this
 * state. */
bool rootfs_is_enforced(const struct workspace *ws, enum state state);
/* Puts the recorded digest of a started workspace in this state, and its time, into files. Hashes
 * nothing. */
int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 enum state state, struct boot_files *files, struct error *err);
/* Takes a new digest of a started workspace in this state, records it as the last digest, and puts
 * it into files. */
int rootfs_digest_renew(const struct workspace *ws, enum state state, struct boot_files *files,
			struct error *err);
/* Records the recalled digest as the last digest. Called when the disk is about to change. */
void rootfs_digest_keep(const struct workspace *ws, const struct boot_files *files);

/* Says whether this is the first time that a guest gets the root file system. */
struct first_start {
	bool is_first;
	struct timespec modified; /* the file's mtime before the start */
};
/* Called right before the VM is made. Records the digest of prepare as the last one; this record
 * says that the disk is the guest's own (workspace_was_started()). fd: the root file system. */
int rootfs_hand_over(const struct workspace *ws, const struct manifest *manifest, int fd,
		     struct first_start *out, struct error *err);
/* Writes the time of the last recorded digest (RFC 3339). Writes the present time if none is
 * recorded, as in a workspace that was removed meanwhile. */
void rootfs_digest_time(const struct workspace *ws, char out[CLOCK_TEXT]);
/* Called when the VM has ended. If nothing was written to the file, for example since the VMM could
 * not start, the recorded digest is enforced again. */
void rootfs_take_back(const struct workspace *ws, int fd, struct first_start *first);

#endif
