/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_PREPARE_H
#define HYPERV_PREPARE_H

#include "hyperv/inputs/inputs.h"
#include "hyperv/store/record.h"

/* Makes the root's VHD, workspace.json and the event `prepared`. The record is locked. Stores the
 * digest of the root in `inputs`. If the function fails, it removes the workspace's directory if it
 * has made it. */
int prepare_workspace(struct record *record, const struct request *request, struct inputs *inputs,
		      struct error *err);

/* The contents of workspace.json. The config borrows from the document. */
struct manifest {
	json_t *document;
	const json_t *artifacts; /* a part of document */
	struct config config;
};
/* Loads workspace.json. Returns -1 with ERR_NOT_FOUND if nothing was prepared. */
int manifest_load(const struct record *record, struct manifest *out, struct error *err);
/* Returns true if no guest can have written to the root's VHD yet, so that the VHD must have the
 * same contents as its source. The state does not tell this, since stop and kill also change the
 * state of a machine that was never started. */
bool disk_is_new(const struct record *record, const struct manifest *manifest);
/* Returns true if a machine was started with the VHD since the VHD was made. `document` is
 * workspace.json, or NULL. */
bool disk_was_booted(const struct record *record, const json_t *document);
void manifest_drop(struct manifest *manifest); /* accepts a zeroed one */

#endif
