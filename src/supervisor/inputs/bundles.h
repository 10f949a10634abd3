/* SPDX-License-Identifier: MIT */
/*
 * config.bundles: each archive becomes a disk, bundle-<name>.ext4 in the workspace's directory,
 * which prepare makes (by microagent-artifact, before any lock) and start attaches read-only.
 *
 * prepare records the digests of both. The archive is not needed any more, and may be another one
 * for the next workspace, so its digest only tells what the disk was made of; the disk is what the
 * guest gets, and no guest can write to it: it has to be the one that prepare made, at every start.
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
	int fd;			   /* of the disk; -1: see error */
	char archive[DIGEST_TEXT]; /* "": not known */
	char disk[DIGEST_TEXT];
	struct error error; /* why there is no fd or no digest of the disk */
};

#define BUNDLE_FILE_NAME 160
/* Of the disk, in the workspace's directory. bundle: an entry of config.bundles. */
void bundle_file_name(const json_t *bundle, char out[BUNDLE_FILE_NAME]);

/* In the order of config.bundles. */
struct bundle_list {
	struct bundle *items;
	size_t count;
};
#define BUNDLE_LIST_INIT \
	{                \
		0        \
	}

/* That each archive is there to be read. Errors name the field. */
int bundles_check(const struct config *config, struct error *err);
/* Builds them on the file system of the state directory, without a name in any directory. */
int bundles_build(const struct config *config, const struct state_dir *dir, struct bundle_list *out,
		  struct error *err);
/* Puts them into the workspace's directory in place of those of an earlier prepare. */
int bundles_place(const struct config *config, const struct bundle_list *list,
		  const struct workspace *ws, struct error *err);
void bundles_close(struct bundle_list *list); /* accepts an empty one */

/* Opens those that prepare made and takes their digests. What is wrong with one is kept with it and
 * is no failure: bundles_attach() makes it one. */
int bundles_open(const struct config *config, const struct workspace *ws, struct bundle_list *out,
		 struct error *err);
/* Moves them behind the disks that are in the other list. */
int bundles_attach(const struct config *config, struct bundle_list *list, struct disk_list *disks,
		   struct error *err);

/* Adds to what prepare records: bundles: [{name, path, sha256, diskSHA256}]. Nothing without any.
 */
int bundles_record(const struct config *config, const struct bundle_list *list, json_t *artifacts,
		   struct error *err);
/*
 * Adds to the verification block: bundles: [{name, path, sha256, recordedSHA256}] of the disks, and
 * a divergence "bundle:NAME" for each that is not the recorded one. A bundle of which nothing is
 * recorded (no prepare, or one by an earlier version) is left out.
 */
int bundles_verify(const struct config *config, const struct bundle_list *list,
		   const struct workspace *ws, const json_t *artifacts, json_t *verification,
		   struct error *err);

#endif
