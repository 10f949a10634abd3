/* SPDX-License-Identifier: MIT */
/*
 * The digest of the root file system. Until the first start it is what prepare recorded, or
 * somebody has changed it; from then on the guest writes to it, and its digest is told as of when
 * it was taken: by prepare, or later by an inspect that was asked for a new one (rootfs.json).
 */
#ifndef SUPERVISOR_ROOTFS_DIGEST_H
#define SUPERVISOR_ROOTFS_DIGEST_H

#include <stdbool.h>

#include "contract/state.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/manifest.h"

/* Whether the root file system must be as it was recorded. */
bool rootfs_is_enforced(enum state state);
/* Puts the last digest of a started workspace and its time into files. */
int rootfs_digest_recall(const struct workspace *ws, const struct manifest *manifest,
			 struct boot_files *files, struct error *err);
/* Takes a new one, records it as the last, and puts it into files. */
int rootfs_digest_renew(const struct workspace *ws, struct boot_files *files, struct error *err);

#endif
