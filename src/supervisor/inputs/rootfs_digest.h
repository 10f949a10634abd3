/* SPDX-License-Identifier: MIT */
/*
 * The digest of the root file system. Until a guest gets the file system for the first time, the
 * digest must be the one that prepare recorded; otherwise the file was changed. Afterwards the
 * guest writes to the file. The file's present digest is then known only if no process of the
 * workspace lives, and the cache remembers a digest of the unchanged file (store/digests.h). The
 * guard hashes the disk when a machine has ended in order. The command inspect hashes it if the
 * option --full is given. If the present digest is not known, answers have the last recorded digest
 * and its time, from rootfs.json. A start and such an inspect write this record.
 */
#ifndef SUPERVISOR_ROOTFS_DIGEST_H
#define SUPERVISOR_ROOTFS_DIGEST_H

#include <stdbool.h>
#include <time.h>

#include "contract/state.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/manifest.h"

/* Returns true if the root file system must have the digest that prepare recorded. `state` is the
 * state of the workspace. */
bool rootfs_is_enforced(const struct workspace *ws, enum state state);
/* Puts the digest of a workspace that was started into `files`: the present digest if the cache
 * remembers it, otherwise the last recorded digest and its time. `state` is the state of the
 * workspace. Hashes nothing. */
int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 enum state state, struct boot_files *files, struct error *err);
/* Computes the present digest of a workspace that was started. `state` is the state of the
 * workspace. Records the digest as the last digest, and puts it into `files`. */
int rootfs_digest_renew(const struct workspace *ws, enum state state, struct boot_files *files,
			struct error *err);
/* Records the digest in `files` as the last digest. Called when the disk is about to be changed,
 * since its present digest then becomes invalid. */
void rootfs_digest_keep(const struct workspace *ws, const struct boot_files *files);

/* Says if a guest gets the root file system for the first time. */
struct first_start {
	bool is_first;
	struct timespec modified; /* the file's mtime before the start */
};
/* Records the digest that prepare has recorded as the last digest. From then on
 * workspace_was_started() returns true, so the disk counts as changed by a guest. Called right
 * before the machine is made. `fd` is the root file system. */
int rootfs_hand_over(const struct workspace *ws, const struct manifest *manifest, int fd,
		     struct first_start *out, struct error *err);
/* Writes the time of the last recorded digest (RFC 3339) to `out`. If no digest is recorded, for
 * example because the workspace was removed meanwhile, writes the present time. */
void rootfs_digest_time(const struct workspace *ws, char out[CLOCK_TEXT]);
/* If nothing was written to the file, for example because the VMM could not start, removes the
 * record of rootfs_hand_over(). The next start then requires again that the file has the digest
 * that prepare recorded. Called when the machine has ended. */
void rootfs_take_back(const struct workspace *ws, int fd, struct first_start *first);

#endif
