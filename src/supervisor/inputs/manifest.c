/* SPDX-License-Identifier: MIT */
#include "supervisor/inputs/manifest.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "store/audit.h"
#include "store/record_digest.h"

#define MANIFEST_FORMAT 1

static int bind(json_t *document, struct manifest *out, struct error *err)
{
	json_t *config = NULL, *artifacts = NULL;
	struct manifest manifest = {.document = document};
	int64_t format = 0;

	if (!json_is_object(document))
		return error_set(err, ERR_IO,
				 "the manifest is not a JSON object: prepare the workspace again");
	if (json_get_int(document, "", "format", JSON_REQUIRED, 1, 1000000, &format, err) < 0)
		return -1;
	if (format != MANIFEST_FORMAT)
		return error_set(
			err, ERR_IO,
			"the manifest's format %lld is of another version of microagent: use that version, or prepare the workspace again",
			(long long)format);
	if (json_get_object(document, "", "config", JSON_REQUIRED, &config, err) < 0 ||
	    json_get_object(document, "", "artifacts", JSON_REQUIRED, &artifacts, err) < 0 ||
	    config_from_record(config, &manifest.config, err) < 0)
		return -1;
	manifest.artifacts = artifacts;
	*out = manifest;
	return 0;
}

static int read_manifest(const struct workspace *ws,
			 json_t *(*read)(const struct workspace *ws, const char *file,
					 struct error *err),
			 struct manifest *out, struct error *err)
{
	struct error why = {0};
	json_t *document;

	if (ws->fd < 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the workspace does not exist: prepare it first");
	document = read(ws, MANIFEST_FILE, err);
	if (!document)
		return -1;
	if (bind(document, out, &why) < 0) {
		json_decref(document);
		return workspace_damaged(ws, MANIFEST_FILE, &why, err);
	}
	return 0;
}

int manifest_read(const struct workspace *ws, struct manifest *out, struct error *err)
{
	return read_manifest(ws, workspace_read, out, err);
}

int manifest_read_accepted(const struct workspace *ws, struct manifest *out, struct error *err)
{
	struct manifest found = {0};
	struct error why = {0};

	if (read_manifest(ws, workspace_read_accepted, out, &why) == 0)
		return 0;
	/* A changed manifest that is also damaged cannot be accepted by the user. So the error is
	 * then about the damage. */
	if (why.reason == REASON_RECORD_CHANGED && manifest_read(ws, &found, err) < 0)
		return -1;
	manifest_free(&found);
	return error_copy(err, &why);
}

void manifest_free(struct manifest *manifest)
{
	config_free(&manifest->config);
	json_decref(manifest->document);
	*manifest = (struct manifest){0};
}

/* Returns the time at which the workspace was first prepared. If that time is not known, returns
 * the present time. */
static json_t *created_at(const struct workspace *ws, const char *now)
{
	struct error err;
	json_auto_t *before = workspace_read(ws, MANIFEST_FILE, &err);
	json_t *created = json_object_get(before, "createdAt");

	return json_is_string(created) ? json_incref(created) : json_string(now);
}

/* Returns true if the manifest is synced to the disk only at the start of the machine. Returns true
 * for a session: before its first start a session has no work that a loss of power could destroy.
 * Syncing earlier would take most of the time in which a session is made. */
static bool is_secured_at_start(const struct workspace *ws)
{
	return audit_is_kept(ws);
}

int manifest_write(const struct workspace *ws, const struct identity *identity,
		   const struct config *config, const json_t *artifacts, struct error *err)
{
	json_auto_t *document = json_object();
	char now[CLOCK_TEXT];

	clock_rfc3339(clock_real_ns(), now);
	if (!document)
		return error_set(err, ERR_IO, "out of memory");
	if (json_put(document, "format", json_integer(MANIFEST_FORMAT), err) < 0 ||
	    json_put(document, "identity", json_deep_copy(identity->json), err) < 0 ||
	    json_put(document, "config", json_incref(config->normalised), err) < 0 ||
	    json_put(document, "artifacts", json_deep_copy(artifacts), err) < 0 ||
	    json_put(document, "createdAt", created_at(ws, now), err) < 0 ||
	    json_put_string(document, "preparedAt", now, err) < 0)
		return -1;
	if (record_digest_announce(ws, MANIFEST_FILE, document, err) < 0)
		return -1;
	return workspace_write(ws, MANIFEST_FILE, document,
			       is_secured_at_start(ws) ? STORE_NO_SYNC : STORE_SYNC, err);
}

int manifest_settle(const struct workspace *ws, struct error *err)
{
	json_auto_t *document = workspace_read_accepted(ws, MANIFEST_FILE, err);

	return document ? record_digest_settle(ws, MANIFEST_FILE, document, err) : -1;
}

int manifest_secure(const struct workspace *ws, struct error *err)
{
	return is_secured_at_start(ws) ? workspace_sync(ws, MANIFEST_FILE, err) : 0;
}
