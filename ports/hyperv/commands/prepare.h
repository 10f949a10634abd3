/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_PREPARE_H
#define HYPERV_PREPARE_H

#include "hyperv/inputs/inputs.h"
#include "hyperv/store/record.h"

/* Makes the VHD of the root file system, writes workspace.json, and records the event `prepared`.
 * The caller must have locked the record. Stores the digest of the root file system in `inputs`.
 * After a failure, removes the workspace's directory if this call has created it. */
int prepare_workspace(struct record *record, const struct request *request, struct inputs *inputs,
		      struct error *err);

/* The contents of workspace.json. The strings in `config` belong to `document`. */
struct manifest {
	json_t *document;
	const json_t *artifacts; /* belongs to `document` */
	struct config config;
};
/* Loads workspace.json. The caller must call manifest_drop(). Fails with ERR_NOT_FOUND if the
 * workspace was not prepared. */
int manifest_load(const struct record *record, struct manifest *out, struct error *err);
/* Returns true if no guest can have written to the VHD of the root file system. The VHD must then
 * still be equal to its source. The recorded state does not show this, since stop and kill also
 * change the state of a machine that was never started. */
bool disk_is_new(const struct record *record, const struct manifest *manifest);
/* Returns true if a machine was started with the VHD of the root file system after the VHD was
 * made. `document` is workspace.json, or NULL. */
bool disk_was_booted(const struct record *record, const json_t *document);
void manifest_drop(struct manifest *manifest); /* accepts a zeroed manifest */

#endif
