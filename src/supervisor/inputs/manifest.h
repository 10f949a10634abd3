/* SPDX-License-Identifier: MIT */
/*
 * The manifest: the file workspace.json, which prepare records. It is {format, identity, config
 * (normalised), artifacts (path and digest of each file from which the machine boots), createdAt,
 * preparedAt}.
 */
#ifndef SUPERVISOR_MANIFEST_H
#define SUPERVISOR_MANIFEST_H

#include <jansson.h>

#include "base/error.h"
#include "contract/request.h"
#include "store/store.h"

#define MANIFEST_FILE "workspace.json"

struct manifest {
	json_t *document;
	struct config config;
	const json_t *artifacts; /* borrowed from document */
};

/* Reads the manifest without a check of its origin. This is for a caller that does not give a
 * machine anything that the manifest names. ERR_NOT_FOUND: there is no manifest. ERR_IO: the
 * manifest is damaged, and the message names the file. */
int manifest_read(const struct workspace *ws, struct manifest *out, struct error *err);
/* Reads the manifest for a caller that gives a machine the things that the manifest names.
 * ERR_CONFLICT: no command has recorded this manifest (store/record_digest.h). The other errors are
 * those of manifest_read(). */
int manifest_read_accepted(const struct workspace *ws, struct manifest *out, struct error *err);
void manifest_free(struct manifest *manifest); /* accepts a zeroed one */
/* Replaces the manifest, and keeps the createdAt of the old manifest. If the old manifest was
 * accepted, it still is until manifest_settle(). */
int manifest_write(const struct workspace *ws, const struct identity *identity,
		   const struct config *config, const json_t *artifacts, struct error *err);
/* Makes the present manifest the only one that is accepted. Called under the command lock. */
int manifest_settle(const struct workspace *ws, struct error *err);
/* Syncs the manifest to the disk, so that it survives a loss of power. Only the manifest of a
 * session needs this call: manifest_write() has already synced any other manifest. */
int manifest_secure(const struct workspace *ws, struct error *err);

#endif
