/* SPDX-License-Identifier: MIT */
/*
 * workspace.json: what prepare recorded. {format, identity, config (normalised), artifacts (path
 * and digest of what it boots from), createdAt, preparedAt}.
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

/* ERR_NOT_FOUND without one; a bad one is ERR_IO and names the file. As it is found, for who gives
 * a machine nothing by it. */
int manifest_read(const struct workspace *ws, struct manifest *out, struct error *err);
/* The same for who gives a machine what it says: ERR_CONFLICT where no command has recorded that
 * (store/record_digest.h). */
int manifest_read_accepted(const struct workspace *ws, struct manifest *out, struct error *err);
void manifest_free(struct manifest *manifest); /* accepts a zeroed one */
/* Replaces it; createdAt is kept from one that is there. What it replaces is accepted as well until
 * manifest_settle(). */
int manifest_write(const struct workspace *ws, const struct identity *identity,
		   const struct config *config, const json_t *artifacts, struct error *err);
/* Nothing but what is there now is accepted from here on. Under the command lock. */
int manifest_settle(const struct workspace *ws, struct error *err);
/* It survives a loss of power from here on. That of a session is not on the disk before this; any
 * other's is since manifest_write(). */
int manifest_secure(const struct workspace *ws, struct error *err);

#endif
