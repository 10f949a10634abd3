/* SPDX-License-Identifier: MIT */
/*
 * Mounts a review share: a directory of the host that the guest changes without changing the host.
 * The host gives a disk, which has the directory's files and is only read. The disk is the lower
 * layer of an overlay, and the upper layer is on the root disk. The host later fetches the upper
 * layer (microagent-files changes).
 */
#ifndef GUEST_REVIEW_H
#define GUEST_REVIEW_H

#include <sys/stat.h>

#include "base/error.h"
#include "guest/agent/config.h"

/* The directories of the lower layers and of the upper layers. Each layer has a directory that is
 * called after the id of the upper layer. The one below REVIEW_UPPERS has the directories "upper"
 * and "work" of the overlay. Only root can look into REVIEW_LOWERS and REVIEW_UPPERS. */
#define REVIEW_LOWERS "/run/microagent/review"
#define REVIEW_UPPERS "/var/lib/microagent/review"

/* Mounts the block device `device` as the lower layer, and the overlay at `mountpoint`. *lower
 * becomes the path of the lower layer's mount, which the caller frees. On failure nothing is
 * mounted. */
int review_mount(const char *device, const struct config_disk *disk, const char *mountpoint,
		 char **lower, struct error *err);

/* Removes the upper layers that have no mounted lower layer, in a process of its own, for which this
 * function does not wait. What cannot be removed stays until the next call. */
void review_forget_unused(void);

/* The steps of both functions, for tests. */
/* Makes the directory "upper" in `dir` if it is missing. It gets the owner and the mode of `lower`,
 * as the root of the overlay shows those of the upper layer. Another process sees the directory
 * only with both. */
int review_make_upper(int dir, const struct stat *lower, struct error *err);
/* Renames each upper layer in the directory `uppers` that has no lower layer in the directory
 * `lowers`, so that it can never be mounted after a part of it was removed. Returns whether anything
 * is to be removed by review_remove_aside(). */
bool review_set_aside(int uppers, int lowers);
void review_remove_aside(int uppers);

#endif
