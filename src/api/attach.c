/* SPDX-License-Identifier: MIT */
/* Puts disks, shared directories, bundles and outputs into a config. The user names each of them by
 * a word such as NAME=PATH:/MOUNTPOINT:ro. A path may contain a colon, so a word is parsed from its
 * end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "api/share_git.h"
#include "api/share_word.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"
#include "contract/request.h"
#include "store/disk_file.h"
#include "store/own_links.h"
#include "store/spot.h"

static bool is_mode(const char *text)
{
	return strcmp(text, "ro") == 0 || strcmp(text, "rw") == 0;
}

/* Cuts the last ":TAIL" off `text`, and returns TAIL. Returns NULL if `text` has no colon. */
static char *cut_tail(char *text)
{
	char *colon = strrchr(text, ':');

	if (!colon)
		return NULL;
	*colon = '\0';
	return colon + 1;
}

static int put_place(json_t *out, const char *path, const char *mountpoint, struct error *err)
{
	autofree char *absolute = path_absolute(path, err);

	if (!absolute || json_put_string(out, "path", absolute, err) < 0)
		return -1;
	return json_put_string(out, "mountpoint", mountpoint, err);
}

/* Parses a disk, NAME=PATH:/MOUNTPOINT:ro|rw, into an element of config.disks. */
static json_t *disk_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	autofree char *copy = strdup(word);
	char *equals = copy ? strchr(copy, '=') : NULL;
	char *mode = equals ? cut_tail(equals + 1) : NULL;
	char *mountpoint = mode ? cut_tail(equals + 1) : NULL;

	(void)index;
	if (!mountpoint || equals == copy || !equals[1] || *mountpoint != '/' || !is_mode(mode)) {
		error_set(
			err, ERR_INVALID,
			"\"%.200s\" does not name a disk: write NAME=PATH:/MOUNTPOINT:ro or NAME=PATH:/MOUNTPOINT:rw",
			word);
		return NULL;
	}
	*equals = '\0';
	if (json_put_string(out, "name", copy, err) < 0 ||
	    put_place(out, equals + 1, mountpoint, err) < 0 ||
	    json_put_string(out, "mode", mode, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

/* Parses a bundle, NAME=ARCHIVE:/MOUNTPOINT, into an element of config.bundles. */
static json_t *bundle_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	autofree char *copy = strdup(word);
	char *equals = copy ? strchr(copy, '=') : NULL;
	char *mountpoint = equals ? cut_tail(equals + 1) : NULL;

	(void)index;
	if (!mountpoint || equals == copy || !equals[1] || *mountpoint != '/') {
		error_set(err, ERR_INVALID,
			  "\"%.200s\" does not name a bundle: write NAME=ARCHIVE:/MOUNTPOINT",
			  word);
		return NULL;
	}
	*equals = '\0';
	if (json_put_string(out, "name", copy, err) < 0 ||
	    put_place(out, equals + 1, mountpoint, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

/* Parses an output, NAME=/PATH, into an element of config.outputs. */
static json_t *output_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	autofree char *copy = strdup(word);
	char *equals = copy ? strchr(copy, '=') : NULL;

	(void)index;
	if (!equals || equals == copy || equals[1] != '/') {
		error_set(err, ERR_INVALID, "\"%.200s\" does not name an output: write NAME=/PATH",
			  word);
		return NULL;
	}
	*equals = '\0';
	if (json_put_string(out, "name", copy, err) < 0 ||
	    json_put_string(out, "path", equals + 1, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

json_t *attach_share(const char *word, const char *tag, struct error *err)
{
	auto_share_word struct share_word said = {0};
	json_auto_t *out = json_object();

	if (share_word_parse(word, &said, err) < 0 || json_put_string(out, "tag", tag, err) < 0 ||
	    json_put_string(out, "mode", said.mode, err) < 0 ||
	    json_put_optional(out, "cache", said.cache, err) < 0 ||
	    (said.locks && json_put(out, "locks", json_true(), err) < 0) ||
	    (said.timed &&
	     json_put(out, "timeoutSeconds", json_integer(said.timeout_s), err) < 0) ||
	    put_place(out, said.dir, said.mountpoint, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

/* Makes an element of config.bundles of a word for a directory that is shared for a review. */
static json_t *review_json(const struct share_word *said, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	char name[32];

	snprintf(name, sizeof(name), "review-%zu", index);
	if (json_put_string(out, "name", name, err) < 0 ||
	    json_put_string(out, "kind", bundle_kind_names[BUNDLE_REVIEW], err) < 0 ||
	    put_place(out, said->dir, said->mountpoint, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

static json_t *share_json(const char *word, size_t index, struct error *err)
{
	char tag[32];

	snprintf(tag, sizeof(tag), "share-%zu", index);
	return attach_share(word, tag, err);
}

/* Replaces the item's path by the path of the same file without links, and sets `direct`, so that
 * no link is followed when the path is opened later. Sets `direct` also if the path does not exist
 * now, because a guest may have removed a directory of the path only for the moment of this
 * check. */
static int settle(json_t *item, char *(*end_of)(const char *path, struct error *err),
		  struct error *err)
{
	autofree char *end = end_of(json_text(item, "path", ""), NULL);

	if (end && json_put_string(item, "path", end, err) < 0)
		return -1;
	return json_put(item, "direct", json_true(), err);
}

static char *end_of_dir(const char *path, struct error *err)
{
	autoclose int dir = own_links_dir(path, err);

	return dir < 0 ? NULL : spot_path_of(dir, err);
}

static char *end_of_archive(const char *path, struct error *err)
{
	autoclose int file = own_links_file(path, O_RDONLY, NULL, err);

	return file < 0 ? NULL : spot_path_of(file, err);
}

/* Calls settle() for each item of a list of the config. */
static int settle_each(json_t *items, char *(*end_of)(const char *path, struct error *err),
		       struct error *err)
{
	json_t *item;
	size_t i;

	json_array_foreach(items, i, item)
	{
		if (settle(item, end_of, err) < 0)
			return -1;
	}
	return 0;
}

int attach_settle_shares(json_t *shares, struct error *err)
{
	return settle_each(shares, end_of_dir, err);
}

char *microagent_git_outside(const char *word, const char *at)
{
	auto_share_word struct share_word said = {0};
	auto_share_git struct share_git git = {0};

	if (at)
		(void)share_git_find(word, at, &git, NULL);
	else if (share_word_parse(word, &said, NULL) == 0 && !share_word_is_review(&said))
		(void)share_git_find(said.dir, said.mountpoint, &git, NULL);
	return steal_ptr(&git.common);
}

int microagent_check_disk(const char *word, struct error *err)
{
	json_auto_t *value = disk_json(word, 0, err);

	return value ? 0 : -1;
}

int microagent_check_share(const char *word, struct error *err)
{
	json_auto_t *value = share_json(word, 0, err);

	return value ? 0 : -1;
}

int microagent_check_bundle(const char *word, struct error *err)
{
	json_auto_t *value = bundle_json(word, 0, err);

	return value ? 0 : -1;
}

int microagent_check_output(const char *word, struct error *err)
{
	json_auto_t *value = output_json(word, 0, err);

	return value ? 0 : -1;
}

int words_put(json_t *target, const char *key, const char *const *words, word_json_fn *convert,
	      struct error *err)
{
	json_auto_t *list = json_array();

	if (!words || !words[0])
		return 0;
	for (size_t i = 0; words[i]; i++) {
		json_t *item = convert(words[i], i, err);

		if (!item)
			return -1;
		if (json_array_append_new(list, item) < 0)
			return error_errno(err, ENOMEM, "memory");
	}
	return json_put(target, key, json_incref(list), err);
}

bool microagent_share_is_review(const char *word)
{
	auto_share_word struct share_word said = {0};

	return share_word_parse(word, &said, NULL) == 0 && share_word_is_review(&said);
}

int attach_reviews(json_t *config, const char *const *words, bool anyway, struct error *err)
{
	json_auto_t *reviews = json_array();

	for (size_t i = 0; words && words[i]; i++) {
		auto_share_word struct share_word said = {0};
		json_t *item;

		if (share_word_parse(words[i], &said, err) < 0)
			return -1;
		if (!share_word_is_review(&said))
			continue;
		item = review_json(&said, json_array_size(reviews), err);
		if (!item || settle(item, end_of_dir, err) < 0 ||
		    (anyway && json_put(item, "anyway", json_true(), err) < 0)) {
			json_decref(item);
			return -1;
		}
		if (json_array_append_new(reviews, item) < 0)
			return error_errno(err, ENOMEM, "reviews");
	}
	return json_array_size(reviews) > 0 ? json_put(config, "bundles", json_incref(reviews), err)
					    : 0;
}

/* Adds the directories to config.shares, except those that are shared for a review. */
static int put_shares(json_t *config, const char *const *words, bool anyway, struct error *err)
{
	json_auto_t *shares = json_array();

	for (size_t i = 0; words && words[i]; i++) {
		json_t *item;

		if (microagent_share_is_review(words[i]))
			continue;
		item = share_json(words[i], i, err);
		if (!item || (anyway && json_put(item, "anyway", json_true(), err) < 0)) {
			json_decref(item);
			return -1;
		}
		if (json_array_append_new(shares, item) < 0)
			return error_errno(err, ENOMEM, "shares");
	}
	if (json_array_size(shares) == 0)
		return 0;
	return attach_settle_shares(shares, err) < 0
		       ? -1
		       : json_put(config, "shares", json_incref(shares), err);
}

/* Adds the archives to config.bundles, behind the reviewed directories that are there already. */
static int put_archives(json_t *config, const char *const *words, struct error *err)
{
	json_auto_t *given = json_object();
	json_t *archives, *bundles = json_object_get(config, "bundles");

	if (words_put(given, "bundles", words, bundle_json, err) < 0)
		return -1;
	archives = json_object_get(given, "bundles");
	if (!archives)
		return 0;
	if (settle_each(archives, end_of_archive, err) < 0)
		return -1;
	if (!bundles)
		return json_put(config, "bundles", json_incref(archives), err);
	return json_array_extend(bundles, archives) < 0 ? error_errno(err, ENOMEM, "bundles") : 0;
}

int attach_put(json_t *config, const struct microagent_spec *spec, struct error *err)
{
	json_t *shares;

	if (words_put(config, "disks", spec->machine.disks, disk_json, err) < 0 ||
	    settle_each(json_object_get(config, "disks"), disk_file_end, err) < 0 ||
	    put_shares(config, spec->machine.shares, spec->machine.share_anyway, err) < 0 ||
	    attach_reviews(config, spec->machine.shares, spec->machine.share_anyway, err) < 0)
		return -1;
	shares = json_object_get(config, "shares");
	if ((spec->machine.share_git && shares && share_git_add(shares, err) < 0) ||
	    put_archives(config, spec->bundles, err) < 0)
		return -1;
	return words_put(config, "outputs", spec->outputs, output_json, err);
}
