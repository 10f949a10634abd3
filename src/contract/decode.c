/* SPDX-License-Identifier: MIT */
/* Functions that decode single values of a config. */
#include "contract/decode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/utf8.h"

/* Returns true if an optional text is absent. An empty text counts as absent, because Go's encoders
 * write an absent text as an empty text. */
static bool is_absent(const char *value, enum json_need need)
{
	return !value || (!*value && need == JSON_OPTIONAL);
}

int decode_not_empty(const json_t *object, const char *path, const char *key, struct error *err)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value && !*value ? error_set(err, ERR_INVALID, "%s.%s must not be empty", path, key)
				: 0;
}

int decode_text(const json_t *object, const char *path, const char *key, enum json_need need,
		const char **text, struct error *err)
{
	const char *value = NULL;

	if (json_get_string(object, path, key, need, &value, err) < 0)
		return -1;
	if (is_absent(value, need))
		return 0;
	if (!*value)
		return error_set(err, ERR_INVALID, "%s.%s must not be empty", path, key);
	if (text_has_control(value))
		return error_set(err, ERR_INVALID, "%s.%s must not hold control characters", path,
				 key);
	*text = value;
	return 0;
}

int decode_choice(const json_t *object, const char *path, const char *key, enum json_need need,
		  const char *const *names, size_t count, size_t *index, struct error *err)
{
	const char *value = NULL;
	char list[160] = "";
	size_t used = 0;

	if (json_get_string(object, path, key, need, &value, err) < 0)
		return -1;
	if (is_absent(value, need))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (!strcmp(names[i], value)) {
			*index = i;
			return 0;
		}
	for (size_t i = 0; i < count && used < sizeof(list); i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s",
					 i == 0		  ? ""
					 : i + 1 == count ? " or "
							  : ", ",
					 names[i]);
	return error_set(err, ERR_INVALID, "%s.%s must be %s, and is \"%.64s\"", path, key, list,
			 value);
}

/* Returns true if ".." is a component of the path. Such a path is refused, because different
 * programs would resolve it differently. */
static bool climbs(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return true;
	return false;
}

static const char *decode_path(const json_t *object, const char *path, const char *key,
			       bool (*is_absolute)(const char *path), struct error *err)
{
	const char *value = NULL;

	if (decode_text(object, path, key, JSON_REQUIRED, &value, err) < 0 || !value)
		return NULL;
	if (!is_absolute(value))
		error_set(err, ERR_INVALID, "%s.%s must be an absolute path, and is \"%.200s\"",
			  path, key, value);
	else if (climbs(value))
		error_set(
			err, ERR_INVALID,
			"%s.%s must not have \"..\" in it, and is \"%.200s\": write the path without it",
			path, key, value);
	else
		return value;
	return NULL;
}

static bool begins_at_root(const char *path)
{
	return *path == '/';
}

char *decode_absolute(const json_t *object, const char *path, const char *key, struct error *err)
{
	const char *value = decode_path(object, path, key, begins_at_root, err);

	return value ? path_clean(value, err) : NULL;
}

char *decode_absolute_of_host(const json_t *object, const char *path, const char *key,
			      struct error *err)
{
	const char *value = decode_path(object, path, key, path_is_absolute, err);

	return value ? path_absolute(value, err) : NULL;
}

static bool is_port(const char *text)
{
	unsigned value = 0;

	if (!*text || *text == '0')
		return false;
	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			return false;
		value = value * 10 + (unsigned)(*text - '0');
		if (value > 65535)
			return false;
	}
	return true;
}

static bool is_host_port(const char *text)
{
	const char *colon = strrchr(text, ':');

	if (!colon || colon == text || strchr(text, ' ') || strchr(text, '/') ||
	    !is_port(colon + 1))
		return false;
	if (*text == '[') /* an IPv6 address contains colons, so it is in brackets */
		return colon[-1] == ']' && colon - text > 3;
	return memchr(text, ':', (size_t)(colon - text)) == NULL;
}

int decode_host_port(const json_t *object, const char *path, const char *key, enum json_need need,
		     const char **text, struct error *err)
{
	const char *value = NULL;

	if (decode_text(object, path, key, need, &value, err) < 0)
		return -1;
	if (!value)
		return 0;
	if (!is_host_port(value))
		return error_set(err, ERR_INVALID, "%s.%s must be host:port, and is \"%.200s\"",
				 path, key, value);
	*text = value;
	return 0;
}

int decode_unique(json_t *seen, const char *key, const char *path, const char *what,
		  struct error *err)
{
	const json_t *first = json_object_get(seen, key);

	if (first)
		return error_set(err, ERR_INVALID,
				 "%s has the same %s \"%.200s\" as %s: change one of the two", path,
				 what, key, json_string_value(first));
	return json_put_string(seen, key, path, err);
}

static bool is_kernels_own(const char *mountpoint)
{
	static const char *const places[] = {"/proc", "/sys", "/dev"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++)
		if (path_is_below(mountpoint, places[i]))
			return true;
	return false;
}

/* The longest file name in Linux (NAME_MAX). Other systems define another number. */
#define NAME_BYTES 255

static bool has_long_component(const char *path)
{
	for (size_t len; *path; path += len) {
		path += strspn(path, "/");
		len = strcspn(path, "/");
		if (len > NAME_BYTES)
			return true;
	}
	return false;
}

int decode_mountpoint(struct config_decode *d, const json_t *item, const char *path, json_t *out,
		      struct error *err)
{
	autofree char *mountpoint = decode_absolute(item, path, "mountpoint", err);

	if (!mountpoint)
		return -1;
	if (!strcmp(mountpoint, "/"))
		return error_set(
			err, ERR_INVALID,
			"%s.mountpoint must not be \"/\", where the root file system is: choose another directory",
			path);
	/* The next two rules apply only to requests. A record may be older than the rules, and must
	 * still be readable. */
	if (d->strict && is_kernels_own(mountpoint))
		return error_set(
			err, ERR_INVALID,
			"%s.mountpoint is \"%.100s\", but /proc, /sys and /dev belong to the guest's kernel: choose another directory",
			path, mountpoint);
	if (d->strict && has_long_component(mountpoint))
		return error_set(
			err, ERR_INVALID,
			"%s.mountpoint has a name of more than %d bytes in it, which no file system of the guest can have: choose a shorter name",
			path, NAME_BYTES);
	if (decode_unique(d->mountpoints, mountpoint, path, "mountpoint", err) < 0)
		return -1;
	return json_put_string(out, "mountpoint", mountpoint, err);
}

int decode_list(struct config_decode *d, const json_t *in, const char *path, const char *key,
		const char *const *keys, decode_item_fn *fn, json_t *target, struct error *err)
{
	json_auto_t *list = json_array();
	json_auto_t *seen = json_object();
	json_t *given = NULL;

	if (!list || !seen)
		return error_errno(err, ENOMEM, "%s.%s", path, key);
	if (json_get_array(in, path, key, JSON_OPTIONAL, &given, err) < 0)
		return -1;
	for (size_t i = 0; i < json_array_size(given); i++) {
		const json_t *item = json_array_get(given, i);
		json_auto_t *out = json_object();
		char item_path[DECODE_PATH];

		snprintf(item_path, sizeof(item_path), "%s.%s[%zu]", path, key, i);
		if (!json_is_object(item))
			return error_set(err, ERR_INVALID, "%s must be an object", item_path);
		if (d->strict && json_only_keys(item, item_path, keys, err) < 0)
			return -1;
		if (!out)
			return error_errno(err, ENOMEM, "%s", item_path);
		if (fn(d, item, item_path, seen, out, err) < 0)
			return -1;
		if (json_array_append(list, out) < 0)
			return error_errno(err, ENOMEM, "%s", item_path);
	}
	if (!json_array_size(list))
		return 0;
	return json_put(target, key, json_incref(list), err);
}
