/* SPDX-License-Identifier: MIT */
/*
 * The archives of config.bundles. Each becomes a disk, bundle-<name>.ext4 in the workspace's
 * directory. prepare makes the disk (by microagent-artifact, before any lock), and start attaches
 * it read-only.
 *
 * prepare records the digests of both. The archive is not needed any more, and may be another one
 * for the next workspace. So its digest only tells what the disk was made from. The guest gets the
 * disk, and no guest can write to it. At every start the disk must be the one that prepare made.
 */
#ifndef SUPERVISOR_BUNDLES_H
#define SUPERVISOR_BUNDLES_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "contract/request.h"
#include "store/digests.h"
#include "store/store.h"
#include "supervisor/inputs/disks.h"

struct bundle {
	int fd;			   /* the disk; -1: see error */
	char archive[DIGEST_TEXT]; /* "": not known */
	char disk[DIGEST_TEXT];
	struct error error; /* why there is no fd or no digest of the disk */
};

#define BUNDLE_FILE_NAME 160
/* Writes the name of the disk in the workspace's directory. bundle: an entry of config.bundles. */
void bundle_file_name(const json_t *bundle, char out[BUNDLE_FILE_NAME]);

/* The bundles, in the order of config.bundles. */
struct bundle_list {
	struct bundle *items;
	size_t count;
};
#define BUNDLE_LIST_INIT \
	{                \
		0        \
	}

/* Checks that each archive can be read. Errors name the field. */
int bundles_check(const struct config *config, struct error *err);
/* Builds the disks on the file system of the state directory, without a name in any directory. */
int bundles_build(const struct config *config, const struct state_dir *dir, struct bundle_list *out,
		  struct error *err);
/* Puts the disks into the workspace's directory, in place of the disks of an earlier prepare. */
int bundles_place(const struct config *config, const struct bundle_list *list,
		  const struct workspace *ws, struct error *err);
void bundles_close(struct bundle_list *list); /* accepts an empty one */

/* Opens the disks that prepare made and takes their digests. A problem with a disk is kept with it
 * and is no failure here; bundles_attach() reports it. */
int bundles_open(const struct config *config, const struct workspace *ws, struct bundle_list *out,
		 struct error *err);
/* Moves the bundles' disks to the end of the other list. */
int bundles_attach(const struct config *config, struct bundle_list *list, struct disk_list *disks,
		   struct error *err);

/* Adds to what prepare records: bundles: [{name, path, sha256, diskSHA256}]. Adds nothing if there
 * are no bundles. */
int bundles_record(const struct config *config, const struct bundle_list *list, json_t *artifacts,
		   struct error *err);
/*
 * Adds to the verification block: bundles: [{name, path, sha256, recordedSHA256}] of the disks, and
 * a divergence "bundle:NAME" for each disk that is not the recorded one. A bundle without a record
 * (no prepare, or an earlier version prepared it) is left out.
 */
int bundles_verify(const struct config *config, const struct bundle_list *list,
		   const struct workspace *ws, const json_t *artifacts, json_t *verification,
		   struct error *err);

#endif
