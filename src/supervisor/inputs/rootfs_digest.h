/* SPDX-License-Identifier: MIT */
/*
 * The digest of the root file system. Until a guest has got it, it is what prepare recorded, or
 * somebody has changed it. From then on the guest writes to it. Its digest is of now if nothing
 * lives and the disk is as it was when it was hashed, which the memory of digests knows
 * (store/digests.h): the guard of a machine that has ended in order has it hashed, and so does an
 * inspect that was asked for it. Otherwise the last one is told, with its time: that of such an
 * inspect or of a start (rootfs.json).
 */
#ifndef SUPERVISOR_ROOTFS_DIGEST_H
#define SUPERVISOR_ROOTFS_DIGEST_H

#include <stdbool.h>
#include <time.h>

#include "contract/state.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/manifest.h"

/* Whether the root file system of a workspace in that state must be as it was recorded. */
bool rootfs_is_enforced(const struct workspace *ws, enum state state);
/* Puts the digest of a started workspace in that state, and its time, into files. Hashes nothing. */
int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 enum state state, struct boot_files *files, struct error *err);
/* Takes a new digest of a started workspace in that state, records it as the last, and puts it into
 * files. */
int rootfs_digest_renew(const struct workspace *ws, enum state state, struct boot_files *files,
			struct error *err);
/* Records the digest that was recalled as the last: the disk is about to change. */
void rootfs_digest_keep(const struct workspace *ws, const struct boot_files *files);

/* The first time that a guest gets the root file system. */
struct first_start {
	bool is_first;
	struct timespec modified; /* the file's mtime before */
};
/* Called right before the VM is made. Records the digest of prepare as the last one, which says
 * that the disk is the guest's own (workspace_was_started()). fd: the root file system. */
int rootfs_hand_over(const struct workspace *ws, const struct manifest *manifest, int fd,
		     struct first_start *out, struct error *err);
/* Writes the time of the last digest that is recorded (RFC 3339); the present one where none is
 * recorded, as in a workspace that was removed meanwhile. */
void rootfs_digest_time(const struct workspace *ws, char out[CLOCK_TEXT]);
/* Called when the VM has ended: where nobody has written to the file, as when the VMM could not
 * start, it is enforced again. */
void rootfs_take_back(const struct workspace *ws, int fd, struct first_start *first);

#endif
