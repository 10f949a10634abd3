/* SPDX-License-Identifier: MIT */
/*
 * The manifest: the file workspace.json, which prepare records. The manifest is {format, identity,
 * config, artifacts, createdAt, preparedAt}. `config` is normalised. `artifacts` has the path and
 * digest of each file from which the machine boots.
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
	const json_t *artifacts; /* the artifacts, which belong to `document` */
};

/* Reads the manifest, without checking that a command has recorded it. For a caller that does not
 * hand files or rights named in the manifest to a machine. ERR_NOT_FOUND: there is no manifest.
 * ERR_IO: the manifest is damaged, and the message names the file. */
int manifest_read(const struct workspace *ws, struct manifest *out, struct error *err);
/* Reads the manifest for a caller that hands files or rights named in the manifest to a machine.
 * ERR_CONFLICT: no command has recorded this manifest (store/record_digest.h). All other errors are
 * those of manifest_read(). */
int manifest_read_accepted(const struct workspace *ws, struct manifest *out, struct error *err);
void manifest_free(struct manifest *manifest); /* frees the members; accepts a zeroed struct */
/* Replaces the manifest, and copies createdAt from the old manifest. If the old manifest was
 * accepted, both are accepted until manifest_settle() is called. */
int manifest_write(const struct workspace *ws, const struct identity *identity,
		   const struct config *config, const json_t *artifacts, struct error *err);
/* Makes the present manifest the only accepted manifest. Called under the command lock. */
int manifest_settle(const struct workspace *ws, struct error *err);
/* Syncs the manifest to the disk, so that it survives a loss of power. Only a session needs this
 * call, since manifest_write() has already synced any other manifest. */
int manifest_secure(const struct workspace *ws, struct error *err);

#endif
