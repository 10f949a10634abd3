/* SPDX-License-Identifier: MIT */
#ifndef HYPERV_PREPARE_H
#define HYPERV_PREPARE_H

#include "hyperv/inputs/inputs.h"
#include "hyperv/store/record.h"

/* Under the lock: the root's VHD, workspace.json and the event `prepared`. inputs gets the digest
 * of the root. A directory that this call made goes again where it fails. */
int prepare_workspace(struct record *record, const struct request *request, struct inputs *inputs,
		      struct error *err);

/* workspace.json; the config is bound to it. */
struct manifest {
	json_t *document;
	const json_t *artifacts; /* borrowed from it */
	struct config config;
};
/* ERR_NOT_FOUND: nothing was prepared. */
int manifest_load(const struct record *record, struct manifest *out, struct error *err);
/* Nothing of a guest's is in the root's VHD yet: it is to be what it was made of. The state does not
 * tell that, since stop and kill also change the state of what was never started. */
bool disk_is_new(const struct record *record, const struct manifest *manifest);
/* Whether a machine was started with the VHD since it was made. document: workspace.json, or NULL. */
bool disk_was_booted(const struct record *record, const json_t *document);
void manifest_drop(struct manifest *manifest); /* accepts a zeroed one */

#endif
