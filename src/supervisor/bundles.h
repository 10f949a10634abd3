/* SPDX-License-Identifier: MIT */
/*
 * config.bundles: each archive becomes a disk, bundle-<name>.ext4 in the workspace's directory, which
 * prepare makes (by microagent-artifact, before any lock) and start attaches read-only.
 */
#ifndef SUPERVISOR_BUNDLES_H
#define SUPERVISOR_BUNDLES_H

#include <stddef.h>

#include "base/error.h"
#include "contract/request.h"
#include "store/store.h"
#include "supervisor/disks.h"

/* Disks without a name in any directory, in the order of config.bundles. */
struct bundle_list {
	int *fds;
	size_t count;
};
#define BUNDLE_LIST_INIT \
	{                \
		0        \
	}

/* That each archive is there to be read. Errors name the field. */
int bundles_check(const struct config *config, struct error *err);
/* Builds them on the file system of the state directory. */
int bundles_build(const struct config *config, const struct state_dir *dir, struct bundle_list *out,
		  struct error *err);
/* Puts them into the workspace's directory in place of those of an earlier prepare. */
int bundles_place(const struct config *config, const struct bundle_list *list,
		  const struct workspace *ws, struct error *err);
void bundles_close(struct bundle_list *list); /* accepts an empty one */

/* Opens those that prepare made, behind the disks that are in the list. */
int bundles_attach(const struct config *config, const struct workspace *ws, struct disk_list *disks,
		   struct error *err);

#endif
