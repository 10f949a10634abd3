/* SPDX-License-Identifier: MIT */
#include "artifact/oci_manifests.h"

#include <string.h>

#include "base/json.h"

#define PREFIX "sha256:"

static bool is_for(const json_t *entry, enum architecture architecture)
{
	const json_t *platform = json_object_get(entry, "platform");

	return !json_is_object(platform) ||
	       (strcmp(json_text(platform, "os", "linux"), "linux") == 0 &&
		strcmp(json_text(platform, "architecture", ""), architecture_name(architecture)) ==
			0);
}

/* Adds a manifest to the list. A manifest whose digest is not a SHA-256 is skipped, because the
 * cache records only SHA-256 digests. */
static int add_manifest(struct oci_manifests *list, const char *digest, struct error *err)
{
	if (strncmp(digest, PREFIX, strlen(PREFIX)) != 0 ||
	    strlen(digest) != strlen(PREFIX) + DIGEST_TEXT - 1)
		return 0;
	if (list->count == OCI_MANIFESTS_MAX)
		return error_set(
			err, ERR_INVALID,
			"the image's index has more than %d images for linux, the most that microagent reads: name another image",
			OCI_MANIFESTS_MAX);
	memcpy(list->sha256[list->count++], digest + strlen(PREFIX), DIGEST_TEXT);
	return 0;
}

int oci_manifests_read(const struct buf *text, enum architecture architecture,
		       struct oci_manifests *out, struct error *err)
{
	json_auto_t *document = json_load_strict(buf_bytes(text), text->len, err);
	const json_t *entries = json_object_get(document, "manifests");
	struct oci_manifests list = {0};
	const json_t *entry;
	size_t i;

	if (!document)
		return error_prefix(err, "manifest");
	if (!json_is_array(entries)) {
		list.count = 1;
		if (digest_bytes(buf_bytes(text), text->len, list.sha256[0], err) < 0)
			return -1;
	}
	json_array_foreach(entries, i, entry)
	{
		if (is_for(entry, architecture) &&
		    add_manifest(&list, json_text(entry, "digest", ""), err) < 0)
			return -1;
	}
	*out = list;
	return 0;
}

bool oci_manifests_have(const struct oci_manifests *list, const char *sha256)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->sha256[i], sha256) == 0)
			return true;
	return false;
}

int oci_manifests_check_name(const char *name, const struct buf *text, struct error *err)
{
	static const char mark[] = "@" PREFIX;
	const char *named = strstr(name, mark);
	char actual[DIGEST_TEXT];

	if (!named)
		return 0;
	if (digest_bytes(buf_bytes(text), text->len, actual, err) < 0)
		return -1;
	return strcmp(named + strlen(mark), actual) == 0
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "the image has another digest than its name says: fetch it again, or correct the name; its digest is sha256:%s",
				 actual);
}
