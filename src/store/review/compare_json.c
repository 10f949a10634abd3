/* SPDX-License-Identifier: MIT */
/* Writes changes as JSON. */
#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/utf8.h"
#include "store/review/compare.h"

int review_put_path(json_t *object, const char *key, const char *path, struct error *err)
{
	const size_t len = strlen(path);
	char exact[32];

	if (json_put(object, key, json_string_lossy(path, len), err) < 0)
		return -1;
	if (utf8_is_whole(path, len))
		return 0;
	autofree char *text = base64_encode(path, len, err);
	snprintf(exact, sizeof(exact), "%sBase64", key);
	return text ? json_put_string(object, exact, text, err) : -1;
}

static const char *type_name(char type)
{
	return type == 'f' ? "file" : type == 'd' ? "directory" : type == 'l' ? "link" : "other";
}

static int put_mode(json_t *object, const char *key, const struct review_look *look,
		    struct error *err)
{
	char text[16];

	/* The mode of a link says nothing. */
	if (look->type != 'f' && look->type != 'd')
		return 0;
	snprintf(text, sizeof(text), "%04o", (unsigned)look->mode);
	return json_put_string(object, key, text, err);
}

static int put_contents(json_t *object, const char *size, const char *digest,
			const struct review_look *look, struct error *err)
{
	char text[SHA256_TEXT];

	if (look->type != 'f')
		return 0;
	sha256_hex(look->digest, text);
	return json_put(object, size, json_integer((json_int_t)look->size), err) < 0 ||
			       json_put_string(object, digest, text, err) < 0
		       ? -1
		       : 0;
}

const char *review_kind_name(enum review_kind kind)
{
	static const char *const kinds[] = {
		[REVIEW_ADDED] = "added",     [REVIEW_CHANGED] = "changed",
		[REVIEW_REMOVED] = "removed", [REVIEW_RENAMED] = "renamed",
		[REVIEW_MODE] = "mode",	      [REVIEW_TYPE] = "type",
	};

	return kinds[kind];
}

static int put_change(json_t *list, const struct review_change *change, struct error *err)
{
	static const char *const hosts[] = {
		[REVIEW_HOST_UNKNOWN] = NULL,
		[REVIEW_HOST_SAME] = "same",
		[REVIEW_HOST_DONE] = "done",
		[REVIEW_HOST_CONFLICT] = "conflict",
	};
	const struct review_look *old = &change->old, *new = &change->new;
	json_t *object = json_object();

	if (json_array_append_new(list, object) < 0)
		return error_errno(err, ENOMEM, "changes");
	if (review_put_path(object, "path", change->path, err) < 0 ||
	    json_put_string(object, "kind", review_kind_name(change->kind), err) < 0 ||
	    json_put_string(object, "type", type_name(new->type ? new->type : old->type), err) <
		    0 ||
	    (old->type && new->type &&
	     old->type != new->type &&json_put_string(object, "oldType", type_name(old->type),
						      err) < 0) ||
	    (change->from && review_put_path(object, "from", change->from, err) < 0) ||
	    put_mode(object, "mode", new, err) < 0 || put_mode(object, "oldMode", old, err) < 0 ||
	    put_contents(object, "size", "digest", new, err) < 0 ||
	    put_contents(object, "oldSize", "oldDigest", old, err) < 0 ||
	    (change->target && review_put_path(object, "target", change->target, err) < 0) ||
	    json_put_optional(object, "by", change->by, err) < 0 ||
	    json_put_optional(object, "leftOut", change->left_out, err) < 0 ||
	    json_put_optional(object, "host", hosts[change->host], err) < 0 ||
	    json_put_optional(object, "conflict", change->conflict, err) < 0)
		return -1;
	return 0;
}

json_t *review_changes_json(const struct review_changes *changes, struct error *err)
{
	json_auto_t *list = json_array();
	json_t *result;

	for (size_t i = 0; i < changes->count; i++)
		if (put_change(list, &changes->changes[i], err) < 0)
			return NULL;
	result = json_pack("{s:O, s:s}", "changes", list, "digest", changes->digest);
	if (!result)
		error_errno(err, ENOMEM, "changes");
	return result;
}
