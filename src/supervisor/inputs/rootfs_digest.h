/* SPDX-License-Identifier: MIT */
/*
 * The digest of the root file system. Until the first start it is what prepare recorded, or
 * somebody has changed it. From then on the guest writes to it. Its digest is of now if nothing
 * lives and the disk is as it was when it was hashed, which the memory of digests knows
 * (store/digests.h): the guard of a machine that has ended in order has it hashed, and so does an
 * inspect that was asked for it. Otherwise the last one is told, with its time: that of prepare, of
 * such an inspect or of the last start (rootfs.json).
 */
#ifndef SUPERVISOR_ROOTFS_DIGEST_H
#define SUPERVISOR_ROOTFS_DIGEST_H

#include <stdbool.h>

#include "contract/state.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/manifest.h"

/* Whether the root file system must be as it was recorded. */
bool rootfs_is_enforced(enum state state);
/* Puts the digest of a started workspace in that state, and its time, into files. Hashes nothing. */
int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 enum state state, struct boot_files *files, struct error *err);
/* Takes a new digest of a started workspace in that state, records it as the last, and puts it into
 * files. */
int rootfs_digest_renew(const struct workspace *ws, enum state state, struct boot_files *files,
			struct error *err);
/* Records the digest that is of now, if there is one, as the last: the disk is about to change. */
void rootfs_digest_keep(const struct workspace *ws, const struct boot_files *files);

#endif
