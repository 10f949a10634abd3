/* SPDX-License-Identifier: MIT */
/*
 * The file workspace.json, which prepare records: {format, identity, config (normalised), artifacts
 * (path and digest of each file that it boots from), createdAt, preparedAt}.
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

/* Reads the manifest as it is, for a caller that gives nothing to a machine by it. ERR_NOT_FOUND:
 * there is none. ERR_IO names the file if it is bad. */
int manifest_read(const struct workspace *ws, struct manifest *out, struct error *err);
/* Reads the manifest for a caller that gives a machine what the manifest says. ERR_CONFLICT: no
 * command has recorded this manifest (store/record_digest.h). */
int manifest_read_accepted(const struct workspace *ws, struct manifest *out, struct error *err);
void manifest_free(struct manifest *manifest); /* accepts a zeroed one */
/* Replaces the manifest. Keeps createdAt if there is one already. The old manifest is accepted too
 * until manifest_settle(). */
int manifest_write(const struct workspace *ws, const struct identity *identity,
		   const struct config *config, const json_t *artifacts, struct error *err);
/* From here on only the present manifest is accepted. Called under the command lock. */
int manifest_settle(const struct workspace *ws, struct error *err);
/* From here on the manifest survives a loss of power. A session's manifest is not on the disk
 * before this call; any other manifest is on the disk since manifest_write(). */
int manifest_secure(const struct workspace *ws, struct error *err);

#endif
