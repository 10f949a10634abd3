/* SPDX-License-Identifier: MIT */
/*
 * Loads documents of engines as JSON, and reads values from them. jansson refuses integers above
 * INT64_MAX. So the text of such an integer is replaced by an object {"uint64": "<digits>"} before
 * jansson parses the document. A function that reads a string or a signed integer refuses this
 * object, since its type is wrong.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "oci/config/read.h"

#define WIDE_KEY "uint64"
#define WIDE_DIGITS 20 /* the number of digits of UINT64_MAX */

void oci_note(const struct oci_notes *notes, bool warning, const char *fmt, ...)
{
	char text[1024];
	va_list args;

	if (!notes || !notes->tell)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	notes->tell(notes->arg, warning, text);
}

static bool wide_value(const char *digits, size_t count, uint64_t *value)
{
	char text[WIDE_DIGITS + 1];

	if (count < WIDE_DIGITS - 1 || count > WIDE_DIGITS || *digits == '0')
		return false;
	memcpy(text, digits, count);
	text[count] = '\0';
	errno = 0;
	*value = strtoull(text, NULL, 10);
	return errno == 0 && *value > INT64_MAX;
}

/* Returns how many bytes at `text` may belong to a number (digits, signs, points, exponents). Sets
 * *digits_alone to true if all these bytes are digits. */
static size_t number_length(const char *text, size_t left, bool *digits_alone)
{
	size_t n = 0;

	*digits_alone = true;
	while (n < left && text[n] && strchr("0123456789+-.eE", text[n])) {
		*digits_alone = *digits_alone && text[n] >= '0' && text[n] <= '9';
		n++;
	}
	return n;
}

static size_t string_length(const char *text, size_t left)
{
	size_t n = 1;

	while (n < left && text[n] != '"')
		n += text[n] == '\\' ? 2 : 1;
	return n < left ? n + 1 : left;
}

static int widen_integers(const char *text, size_t len, struct buf *out, struct error *err)
{
	size_t n, copied = 0;
	bool digits_alone;
	uint64_t value;

	for (size_t i = 0; i < len; i += n) {
		n = 1;
		if (text[i] == '"') {
			n = string_length(text + i, len - i);
			continue;
		}
		if (text[i] != '-' && (text[i] < '0' || text[i] > '9'))
			continue;
		n = number_length(text + i, len - i, &digits_alone);
		if (!digits_alone || !wide_value(text + i, n, &value))
			continue;
		if (buf_append(out, text + copied, i - copied, err) < 0 ||
		    buf_printf(out, err, "{\"" WIDE_KEY "\":\"%llu\"}", (unsigned long long)value) <
			    0)
			return -1;
		copied = i + n;
	}
	return buf_append(out, text + copied, len - copied, err);
}

static void drop_null_members(json_t *value)
{
	const char *key;
	json_t *item;
	size_t i;
	void *next;

	json_object_foreach_safe(value, next, key, item)
	{
		if (json_is_null(item))
			json_object_del(value, key);
		else
			drop_null_members(item);
	}
	json_array_foreach(value, i, item)
	{
		drop_null_members(item);
	}
}

json_t *oci_load(const void *data, size_t len, struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);
	json_t *document;

	if (len && widen_integers(data, len, &text, err) < 0)
		return NULL;
	document = json_load_strict(buf_bytes(&text), text.len, err);
	if (document)
		drop_null_members(document);
	return document;
}

int oci_get_uint64(const json_t *object, const char *path, const char *key, enum json_need need,
		   uint64_t *out, struct error *err)
{
	const json_t *value = json_object_get(object, key);
	const char *wide = json_string_value(json_object_get(value, WIDE_KEY));
	int64_t number = 0;

	if (wide && wide_value(wide, strlen(wide), out))
		return 0;
	if (json_get_int(object, path, key, need, 0, INT64_MAX, &number, err) < 0)
		return -1;
	if (value)
		*out = (uint64_t)number;
	return 0;
}

int oci_get_id(const json_t *object, const char *path, const char *key, uint32_t *out,
	       struct error *err)
{
	int64_t number = *out;

	if (json_get_int(object, path, key, JSON_OPTIONAL, 0, OCI_ID_MOST, &number, err) < 0)
		return -1;
	*out = (uint32_t)number;
	return 0;
}

void oci_path(char where[OCI_PATH], const char *path, const char *key)
{
	snprintf(where, OCI_PATH, "%s%s%s", path, *path ? "." : "", key);
}

void oci_path_item(char where[OCI_PATH], const char *path, const char *key, size_t index)
{
	snprintf(where, OCI_PATH, "%s%s%s[%zu]", path, *path ? "." : "", key, index);
}

int oci_get_strings(const json_t *object, const char *path, const char *key, const char ***out,
		    struct error *err)
{
	json_t *list = NULL;
	const json_t *item;
	size_t i;

	if (json_get_array(object, path, key, JSON_OPTIONAL, &list, err) < 0)
		return -1;
	autofree const char **texts = calloc(json_array_size(list) + 1, sizeof(*texts));
	if (!texts)
		return error_errno(err, ENOMEM, "%s", key);
	json_array_foreach(list, i, item)
	{
		char where[OCI_PATH];

		texts[i] = json_string_value(item);
		if (texts[i] && strlen(texts[i]) == json_string_length(item))
			continue;
		oci_path_item(where, path, key, i);
		return error_set(err, ERR_INVALID, "%s must %s", where,
				 texts[i] ? "not hold a NUL character" : "be a string");
	}
	*out = steal_ptr(&texts);
	return 0;
}

int oci_get_absolutes(const json_t *object, const char *path, const char *key, const char ***out,
		      struct error *err)
{
	autofree const char **texts = NULL;
	char where[OCI_PATH];

	if (oci_get_strings(object, path, key, &texts, err) < 0)
		return -1;
	for (size_t i = 0; texts[i]; i++) {
		if (*texts[i] == '/')
			continue;
		oci_path_item(where, path, key, i);
		return error_set(err, ERR_INVALID, "%s must be an absolute path", where);
	}
	*out = steal_ptr(&texts);
	return 0;
}

int oci_get_absolute(const json_t *object, const char *path, const char *key, const char **out,
		     struct error *err)
{
	const char *text = "";
	char where[OCI_PATH];

	if (json_get_string(object, path, key, JSON_REQUIRED, &text, err) < 0)
		return -1;
	oci_path(where, path, key);
	if (*text != '/')
		return error_set(err, ERR_INVALID, "%s must be an absolute path", where);
	*out = text;
	return 0;
}

int oci_get_map(const json_t *object, const char *path, const char *key, const json_t **out,
		struct error *err)
{
	json_t *map = NULL;
	const char *name;
	json_t *value;
	char where[OCI_PATH];

	if (json_get_object(object, path, key, JSON_OPTIONAL, &map, err) < 0)
		return -1;
	oci_path(where, path, key);
	json_object_foreach(map, name, value)
	{
		const char *text = NULL;

		if (json_get_string(map, where, name, JSON_REQUIRED, &text, err) < 0)
			return -1;
	}
	if (map)
		*out = map;
	return 0;
}
