/* SPDX-License-Identifier: MIT */
/* The words by which people ask for disks, shared directories, bundles and outputs, into a config.
 * Paths may hold colons, so words are read from their ends. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/path.h"

static bool is_mode(const char *text)
{
	return strcmp(text, "ro") == 0 || strcmp(text, "rw") == 0;
}

/* Cuts ":TAIL" off the end of text and returns TAIL; NULL where there is none. */
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

/* NAME=PATH:/MOUNTPOINT:ro|rw */
static json_t *disk_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	autofree char *copy = strdup(word);
	char *equals = copy ? strchr(copy, '=') : NULL;
	char *mode = equals ? cut_tail(equals + 1) : NULL;
	char *mountpoint = mode ? cut_tail(equals + 1) : NULL;

	(void)index;
	if (!mountpoint || equals == copy || !equals[1] || *mountpoint != '/' || !is_mode(mode)) {
		error_set(err, ERR_INVALID, "\"%.200s\" is not NAME=PATH:/MOUNTPOINT:ro or :rw",
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

/* NAME=ARCHIVE:/MOUNTPOINT */
static json_t *bundle_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	autofree char *copy = strdup(word);
	char *equals = copy ? strchr(copy, '=') : NULL;
	char *mountpoint = equals ? cut_tail(equals + 1) : NULL;

	(void)index;
	if (!mountpoint || equals == copy || !equals[1] || *mountpoint != '/') {
		error_set(err, ERR_INVALID, "\"%.200s\" is not NAME=ARCHIVE:/MOUNTPOINT", word);
		return NULL;
	}
	*equals = '\0';
	if (json_put_string(out, "name", copy, err) < 0 ||
	    put_place(out, equals + 1, mountpoint, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

/* NAME=/PATH */
static json_t *output_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	autofree char *copy = strdup(word);
	char *equals = copy ? strchr(copy, '=') : NULL;

	(void)index;
	if (!equals || equals == copy || equals[1] != '/') {
		error_set(err, ERR_INVALID, "\"%.200s\" is not NAME=/PATH", word);
		return NULL;
	}
	*equals = '\0';
	if (json_put_string(out, "name", copy, err) < 0 ||
	    json_put_string(out, "path", equals + 1, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

static int put_share_option(json_t *out, char *option, struct error *err)
{
	char *value = strchr(option, '=');
	char *end = NULL;
	long seconds;

	if (is_mode(option))
		return json_put_string(out, "mode", option, err);
	if (!value)
		return -1;
	*value++ = '\0';
	if (strcmp(option, "cache") == 0)
		return json_put_string(out, "cache", value, err);
	if (strcmp(option, "timeout") != 0)
		return -1;
	errno = 0;
	seconds = strtol(value, &end, 10);
	return errno || end == value || *end
		       ? -1
		       : json_put(out, "timeoutSeconds", json_integer(seconds), err);
}

/* Which value one may have the config knows. */
static int put_share_options(json_t *out, char *options, struct error *err)
{
	char *option;

	while ((option = strsep(&options, ",")))
		if (put_share_option(out, option, err) < 0)
			return -1;
	return 0;
}

/* DIR:/MOUNTPOINT[:OPTION,...] */
static json_t *share_json(const char *word, size_t index, struct error *err)
{
	json_auto_t *out = json_object();
	autofree char *copy = strdup(word);
	char *mountpoint = copy ? cut_tail(copy) : NULL;
	char *options = NULL;
	char tag[32];

	if (mountpoint && *mountpoint != '/') {
		options = mountpoint;
		mountpoint = cut_tail(copy);
	}
	snprintf(tag, sizeof(tag), "share-%zu", index);
	if (json_put_string(out, "tag", tag, err) < 0 ||
	    json_put_string(out, "mode", "rw", err) < 0)
		return NULL;
	if (!mountpoint || !*copy || *mountpoint != '/' ||
	    put_share_options(out, options, err) < 0) {
		error_set(err, ERR_INVALID,
			  "\"%.200s\" is not DIR:/MOUNTPOINT or DIR:/MOUNTPOINT:OPTIONS, which are "
			  "ro, rw, cache=auto|always|none and timeout=SECONDS",
			  word);
		return NULL;
	}
	if (put_place(out, copy, mountpoint, err) < 0)
		return NULL;
	return steal_ptr(&out);
}

static int put_anyway(json_t *config, struct error *err)
{
	json_t *share;
	size_t i;

	json_array_foreach(json_object_get(config, "shares"), i, share)
	{
		if (json_put(share, "anyway", json_true(), err) < 0)
			return -1;
	}
	return 0;
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

int attach_put(json_t *config, const struct microagent_spec *spec, struct error *err)
{
	if (words_put(config, "disks", spec->disks, disk_json, err) < 0 ||
	    words_put(config, "shares", spec->shares, share_json, err) < 0 ||
	    (spec->share_anyway && put_anyway(config, err) < 0) ||
	    words_put(config, "bundles", spec->bundles, bundle_json, err) < 0)
		return -1;
	return words_put(config, "outputs", spec->outputs, output_json, err);
}
