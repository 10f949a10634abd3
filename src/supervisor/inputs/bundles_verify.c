/* SPDX-License-Identifier: MIT */
/* Compares the present disks of bundles with the digests that prepare has recorded. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "supervisor/inputs/boot_files.h"
#include "supervisor/inputs/bundles.h"

int bundles_record(const struct config *config, const struct bundle_list *list, json_t *artifacts,
		   struct error *err)
{
	json_t *array = json_array(), *json;
	size_t i;

	if (json_array_size(config->bundles) == 0) {
		json_decref(array);
		return 0;
	}
	if (json_put(artifacts, "bundles", array, err) < 0)
		return -1;
	json_array_foreach(config->bundles, i, json)
	{
		json_t *entry = i < list->count ? json_pack("{s:O, s:O, s:s, s:s}", "name",
							    json_object_get(json, "name"), "path",
							    json_object_get(json, "path"), "sha256",
							    list->items[i].archive, "diskSHA256",
							    list->items[i].disk)
						: NULL;

		if (json_array_append_new(array, entry) < 0)
			return error_errno(err, ENOMEM, "bundles");
	}
	return 0;
}

static const char *recorded_digest(const json_t *artifacts, const char *name)
{
	const json_t *entry;
	size_t i;

	json_array_foreach(json_object_get(artifacts, "bundles"), i, entry)
	{
		const char *of = json_text(entry, "name", NULL);

		if (of && strcmp(of, name) == 0)
			return json_text(entry, "diskSHA256", NULL);
	}
	return NULL;
}

static int verify_one(const json_t *json, const struct bundle *bundle, const struct workspace *ws,
		      const char *then, json_t *array, struct error *err)
{
	json_auto_t *entry = json_object();
	autofree char *path = NULL;
	char name[BUNDLE_FILE_NAME];

	bundle_file_name(json, name);
	if (asprintf(&path, "%s/%s/%s", ws->dir->path, ws->id, name) < 0) {
		path = NULL;
		return error_errno(err, ENOMEM, "bundles");
	}
	if (json_put_string(entry, "name", json_text(json, "name", NULL), err) < 0 ||
	    json_put(entry, "path", json_string_lossy(path, strlen(path)), err) < 0)
		return -1;
	if (*bundle->disk && json_put_string(entry, "sha256", bundle->disk, err) < 0)
		return -1;
	if (json_put_string(entry, "recordedSHA256", then, err) < 0)
		return -1;
	if (bundle->error.code &&
	    json_put(entry, "error",
		     json_string_lossy(bundle->error.msg, strlen(bundle->error.msg)), err) < 0)
		return -1;
	return json_array_append(array, entry) == 0 ? 0 : error_errno(err, ENOMEM, "bundles");
}

int bundles_verify(const struct config *config, const struct bundle_list *list,
		   const struct workspace *ws, const json_t *artifacts, json_t *verification,
		   struct error *err)
{
	json_auto_t *array = json_array();
	json_t *json;
	size_t i;

	json_array_foreach(config->bundles, i, json)
	{
		const struct bundle *bundle = i < list->count ? &list->items[i] : NULL;
		const char *then = recorded_digest(artifacts, json_text(json, "name", NULL));
		char artifact[BUNDLE_FILE_NAME];

		if (!then || !bundle)
			continue;
		snprintf(artifact, sizeof(artifact), "bundle:%s", json_text(json, "name", NULL));
		if (verify_one(json, bundle, ws, then, array, err) < 0)
			return -1;
		if ((bundle->error.code || strcmp(bundle->disk, then) != 0) &&
		    verification_add_divergence(verification, artifact, then, bundle->disk,
						&bundle->error, err) < 0)
			return -1;
	}
	if (json_array_size(array) == 0)
		return 0;
	return json_put(verification, "bundles", json_incref(array), err);
}
