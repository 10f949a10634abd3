/* SPDX-License-Identifier: MIT */
/*
 * The archives and the reviewed directories of config.bundles. The command prepare makes a disk of
 * each of them: the file bundle-<name>.ext4 in the workspace's directory. prepare runs
 * microagent-artifact for this, before it takes any lock. The command start attaches the disk
 * read-only.
 *
 * A reviewed directory has two more files there. bundle-<name>.list is the list of the disk's files
 * (artifact/review.h), whose digest is recorded like the digest of an archive. bundle-<name>.upper
 * has the name of the layer to which the guest writes, 32 hexadecimal digits. With a new name the
 * guest begins with an empty layer.
 *
 * If prepare is told to keep reviews (--keep-reviews), a reviewed directory whose three files the
 * workspace has already is not taken anew. What a guest has changed belongs to exactly these files.
 * The caller has compared them with a record (api/review_copy.c).
 *
 * prepare records the digests of the archive and of the disk. After this the archive is not needed
 * any more, and may have other contents when the next workspace is prepared. So the archive's
 * digest is not compared. The digest only shows from which archive the disk was made. No guest can
 * write to the disk, so at every start the disk must have the recorded digest.
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
	int fd;			/* the descriptor of the disk; -1: the disk could not be
				    * opened */
	int list;		/* the descriptor of the list of a reviewed directory that was just
				    * taken, or is kept; -1: there is none */
	bool kept;		/* the files of a reviewed directory are those that the workspace
				    * had already */
	char upper[UPPER_TEXT]; /* the name of the layer to which the guest writes; "": an archive
				    * has none */
	char archive[DIGEST_TEXT]; /* the digest of the archive, or of the list; "": not known */
	char disk[DIGEST_TEXT];	   /* the digest of the disk */
	/* The reason why the disk could not be opened, or why its digest is not known. */
	struct error error;
};

/* Writes the name of the disk in the workspace's directory. `bundle` is an entry of
 * config.bundles. */
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

/* Checks that each archive can be read, and that each directory may be taken. An error names the
 * field of the config. A directory whose files the workspace `kept` has is not looked at. `kept` may
 * be NULL. */
int bundles_check(const struct config *config, const struct workspace *kept, struct error *err);
/* Makes the disks on the file system of the state directory. Until bundles_place() is called, their
 * files have no names. If `kept` is not NULL, it is a workspace, and a reviewed directory whose
 * files this workspace has is not taken anew: its files are opened and hashed. */
int bundles_build(const struct config *config, const struct state_dir *dir,
		  const struct workspace *kept, struct bundle_list *out, struct error *err);
/* Gives the disks names in the workspace's directory, in place of the disks of an earlier
 * prepare. Files that are kept stay. */
int bundles_place(const struct config *config, const struct bundle_list *list,
		  const struct workspace *ws, struct error *err);
void bundles_close(struct bundle_list *list); /* closes the disks; accepts an empty list */

/* Opens the disks that prepare made, and computes their digests. A problem with a disk is not an
 * error of this function. Such a problem is stored in bundle.error, and bundles_attach() reports
 * it. */
int bundles_open(const struct config *config, const struct workspace *ws, struct bundle_list *out,
		 struct error *err);
/* Moves the bundles' disks from `list` to the end of `disks`, which then closes their
 * descriptors. */
int bundles_attach(const struct config *config, struct bundle_list *list, struct disk_list *disks,
		   struct error *err);

/* Adds the member "bundles" to `artifacts`, which prepare records: [{name, path, sha256,
 * diskSHA256}]. Adds nothing if there are no bundles. */
int bundles_record(const struct config *config, const struct bundle_list *list, json_t *artifacts,
		   struct error *err);
/*
 * Adds the member "bundles" to the verification block: [{name, path, sha256, recordedSHA256}],
 * where the digests are those of the disks. Adds a divergence "bundle:NAME" for each disk that does
 * not have its recorded digest. Leaves out a bundle that has no record, because the workspace was
 * not prepared, or was prepared by an earlier version.
 */
int bundles_verify(const struct config *config, const struct bundle_list *list,
		   const struct workspace *ws, const json_t *artifacts, json_t *verification,
		   struct error *err);

#endif
