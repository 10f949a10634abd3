/* SPDX-License-Identifier: MIT */
/*
 * Decodes disks, shared directories, input bundles and declared outputs. No two entries, of any
 * kind, may have the same mountpoint, so that no entry can hide another entry.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "contract/decode.h"

/* The longest tag of a virtio file system device, in bytes. */
#define SHARE_TAG_BYTES 36

static const char *const mode_names[] = {"ro", "rw"};
const char *const share_cache_names[] = {"auto", "always", "none"};

/* Decodes a name by which the guest, the command line and files refer to the entry. No other entry
 * of the list may have the same name. */
static int decode_name(const json_t *item, const char *path, const char *key, json_t *seen,
		       json_t *out, struct error *err)
{
	const char *name = NULL;

	if (decode_text(item, path, key, JSON_REQUIRED, &name, err) < 0)
		return -1;
	if (!path_is_safe_basename(name))
		return error_set(err, ERR_INVALID,
				 "%s.%s must be a plain name without a slash, and is \"%.200s\"",
				 path, key, name);
	if (decode_unique(seen, name, path, key, err) < 0)
		return -1;
	return json_put_string(out, key, name, err);
}

static int decode_mode(const json_t *item, const char *path, json_t *out, struct error *err)
{
	size_t index = 0;

	if (decode_choice(item, path, "mode", JSON_REQUIRED, mode_names, ARRAY_SIZE(mode_names),
			  &index, err) < 0)
		return -1;
	return json_put_string(out, "mode", mode_names[index], err);
}

static int decode_host_path(const json_t *item, const char *path, json_t *out, struct error *err)
{
	const char *text = NULL;

	if (decode_text(item, path, "path", JSON_REQUIRED, &text, err) < 0)
		return -1;
	return json_put_string(out, "path", text, err);
}

/* Decodes the field `direct`. If it is true, the path is opened without following a link. */
static int decode_direct(const json_t *item, const char *path, json_t *out, struct error *err)
{
	bool direct = false;

	if (json_get_bool(item, path, "direct", JSON_OPTIONAL, &direct, err) < 0)
		return -1;
	return direct ? json_put(out, "direct", json_true(), err) : 0;
}

static int decode_disk(struct config_decode *d, const json_t *item, const char *path, json_t *seen,
		       json_t *out, struct error *err)
{
	if (decode_name(item, path, "name", seen, out, err) < 0)
		return -1;
	if (!strcmp(json_text(out, "name", NULL), "rootfs"))
		return error_set(
			err, ERR_INVALID,
			"%s.name must not be \"rootfs\", which is the name of the root disk: choose another name",
			path);
	if (decode_host_path(item, path, out, err) < 0 ||
	    decode_mountpoint(d, item, path, out, err) < 0 ||
	    decode_direct(item, path, out, err) < 0)
		return -1;
	return decode_mode(item, path, out, err);
}

int decode_disks(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"name", "path", "mountpoint", "mode", "direct", NULL};

	return decode_list(d, d->in, "config", "disks", keys, decode_disk, d->out, err);
}

/* Decodes the path of a share. Refuses the host's root, because nobody shares everything on
 * purpose. */
static int decode_share_path(const json_t *item, const char *path, json_t *out, struct error *err)
{
	autofree char *shared = decode_absolute_of_host(item, path, "path", err);

	if (!shared)
		return -1;
	if (!strcmp(shared, "/"))
		return error_set(
			err, ERR_INVALID,
			"%s.path must not be \"/\": share the one directory that the task needs",
			path);
	return json_put_string(out, "path", shared, err);
}

/* Decodes cache, timeoutSeconds and locks. The canonical form has only the fields that differ from
 * their defaults. A program that takes a lock expects to read the data that other programs wrote
 * before. So the default with locks is that the guest caches nothing. */
static int decode_caching(const json_t *item, const char *path, json_t *out, struct error *err)
{
	size_t cache = SHARE_CACHE_AUTO;
	int64_t timeout = 0;
	bool locks = false;

	if (decode_choice(item, path, "cache", JSON_OPTIONAL, share_cache_names,
			  ARRAY_SIZE(share_cache_names), &cache, err) < 0 ||
	    json_get_int(item, path, "timeoutSeconds", JSON_OPTIONAL, 1, SHARE_TIMEOUT_MAX,
			 &timeout, err) < 0 ||
	    json_get_bool(item, path, "locks", JSON_OPTIONAL, &locks, err) < 0)
		return -1;
	if (timeout && cache == SHARE_CACHE_NONE)
		return error_set(
			err, ERR_INVALID,
			"%s.timeoutSeconds says how long names and attributes are kept, but the cache \"none\" keeps nothing: leave it out",
			path);
	if (locks && !timeout && !*json_text(item, "cache", ""))
		cache = SHARE_CACHE_NONE;
	if ((cache != SHARE_CACHE_AUTO || (locks && !timeout)) &&
	    json_put_string(out, "cache", share_cache_names[cache], err) < 0)
		return -1;
	if (locks && json_put(out, "locks", json_true(), err) < 0)
		return -1;
	return timeout ? json_put(out, "timeoutSeconds", json_integer(timeout), err) : 0;
}

struct share_terms share_terms(const json_t *share)
{
	const char *name = json_text(share, "cache", share_cache_names[SHARE_CACHE_AUTO]);
	struct share_terms terms = {
		.timeout_seconds = json_integer_value(json_object_get(share, "timeoutSeconds")),
		.locks = json_is_true(json_object_get(share, "locks"))};

	for (size_t i = 0; i < ARRAY_SIZE(share_cache_names); i++)
		if (strcmp(name, share_cache_names[i]) == 0)
			terms.cache = (enum share_cache)i;
	return terms;
}

static int decode_share(struct config_decode *d, const json_t *item, const char *path, json_t *seen,
			json_t *out, struct error *err)
{
	bool anyway = false;

	if (decode_name(item, path, "tag", seen, out, err) < 0)
		return -1;
	if (json_string_length(json_object_get(out, "tag")) > SHARE_TAG_BYTES)
		return error_set(err, ERR_INVALID, "%s.tag must be at most %d bytes long", path,
				 SHARE_TAG_BYTES);
	if (decode_share_path(item, path, out, err) < 0 ||
	    decode_mountpoint(d, item, path, out, err) < 0 ||
	    decode_mode(item, path, out, err) < 0 || decode_caching(item, path, out, err) < 0 ||
	    json_get_bool(item, path, "anyway", JSON_OPTIONAL, &anyway, err) < 0 ||
	    decode_direct(item, path, out, err) < 0)
		return -1;
	return anyway ? json_put(out, "anyway", json_true(), err) : 0;
}

static const char *const share_keys[] = {"tag",	   "path",  "mountpoint",     "mode",  "anyway",
					 "direct", "cache", "timeoutSeconds", "locks", NULL};

int decode_shares(struct config_decode *d, struct error *err)
{
	return decode_list(d, d->in, "config", "shares", share_keys, decode_share, d->out, err);
}

json_t *share_decode(const json_t *share, const char *what, struct error *err)
{
	json_auto_t *out = json_object();
	json_auto_t *tags = json_object();
	json_auto_t *mountpoints = json_object();
	struct config_decode d = {
		.in = share, .out = out, .strict = true, .mountpoints = mountpoints};

	if (!out || !tags || !mountpoints) {
		error_errno(err, ENOMEM, "%s", what);
		return NULL;
	}
	if (json_only_keys(share, what, share_keys, err) < 0 ||
	    decode_share(&d, share, what, tags, out, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

/* Checks a field that has only one possible value. A request may have the field because answers
 * list it; the canonical form leaves it out. */
static int decode_only(const json_t *item, const char *path, const char *key, const char *only,
		       struct error *err)
{
	size_t index = 0;

	return decode_choice(item, path, key, JSON_OPTIONAL, &only, 1, &index, err);
}

const char *const bundle_kind_names[] = {"bundle", "review"};

static int decode_bundle(struct config_decode *d, const json_t *item, const char *path,
			 json_t *seen, json_t *out, struct error *err)
{
	size_t kind = BUNDLE_ARCHIVE;
	bool anyway = false;

	if (decode_name(item, path, "name", seen, out, err) < 0 ||
	    decode_choice(item, path, "kind", JSON_OPTIONAL, bundle_kind_names,
			  ARRAY_SIZE(bundle_kind_names), &kind, err) < 0)
		return -1;
	if (kind == BUNDLE_REVIEW && !json_object_get(d->out, "rootfsPath"))
		return error_set(
			err, ERR_INVALID,
			"%s is for a review, and the guest's changes are kept on the root disk, which this machine does not have",
			path);
	if (kind == BUNDLE_REVIEW) {
		if (decode_share_path(item, path, out, err) < 0 ||
		    json_put_string(out, "kind", bundle_kind_names[kind], err) < 0 ||
		    json_get_bool(item, path, "anyway", JSON_OPTIONAL, &anyway, err) < 0 ||
		    (anyway && json_put(out, "anyway", json_true(), err) < 0))
			return -1;
	} else if (json_object_get(item, "anyway")) {
		return error_set(
			err, ERR_INVALID,
			"%s.anyway says that a directory with keys may be taken, and an archive is no directory: leave it out",
			path);
	} else if (decode_host_path(item, path, out, err) < 0 ||
		   decode_only(item, path, "mode", "ro", err) < 0) {
		return -1;
	}
	return decode_direct(item, path, out, err) < 0 ? -1
						       : decode_mountpoint(d, item, path, out, err);
}

enum bundle_kind bundle_kind(const json_t *bundle)
{
	const char *name = json_text(bundle, "kind", bundle_kind_names[BUNDLE_ARCHIVE]);

	return strcmp(name, bundle_kind_names[BUNDLE_REVIEW]) == 0 ? BUNDLE_REVIEW : BUNDLE_ARCHIVE;
}

int decode_bundles(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"name", "path",   "mountpoint", "mode",
					   "kind", "direct", "anyway",	   NULL};

	return decode_list(d, d->in, "config", "bundles", keys, decode_bundle, d->out, err);
}

static int decode_output(struct config_decode *d, const json_t *item, const char *path,
			 json_t *seen, json_t *out, struct error *err)
{
	autofree char *guest_path = NULL;

	(void)d;
	if (decode_name(item, path, "name", seen, out, err) < 0 ||
	    decode_only(item, path, "kind", "output", err) < 0)
		return -1;
	guest_path = decode_absolute(item, path, "path", err);
	if (!guest_path)
		return -1;
	return json_put_string(out, "path", guest_path, err);
}

int decode_outputs(struct config_decode *d, struct error *err)
{
	static const char *const keys[] = {"name", "path", "kind", NULL};

	return decode_list(d, d->in, "config", "outputs", keys, decode_output, d->out, err);
}
