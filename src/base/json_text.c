/* SPDX-License-Identifier: MIT */
/* The functions of json.h that handle untrusted bytes, propose a similar key, or find a
 * difference. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json.h"
#include "base/nearest.h"
#include "base/utf8.h"

#define SHOWN_KEY 64 /* the number of bytes of an untrusted key that a message shows */

/* Appends the JSON escape of a character: "\uXXXX", or a pair of surrogates for a character above
 * U+FFFF. */
static int put_escaped(struct buf *out, uint32_t code, struct error *err)
{
	if (code < 0x10000)
		return buf_printf(out, err, "\\u%04" PRIx32, code);
	code -= 0x10000;
	return buf_printf(out, err, "\\u%04" PRIx32 "\\u%04" PRIx32, 0xd800 + (code >> 10),
			  0xdc00 + (code & 0x3ff));
}

char *json_escape_text(char *text, struct error *err)
{
	autofree char *own = text;
	autobuf struct buf out = BUF_INIT(0);
	const char *from = own, *at = own;
	struct utf8_reader reader = {0};

	while (*at) {
		bool is_text;
		size_t len = utf8_read(&reader, at, strnlen(at, 2 * UTF8_LONGEST), &is_text);

		if (!is_text && *at != '\n') {
			if (buf_append(&out, from, (size_t)(at - from), err) < 0 ||
			    put_escaped(&out, reader.code, err) < 0)
				return NULL;
			from = at + len;
		}
		at += len;
	}
	if (from == own)
		return steal_ptr(&own);
	return buf_append(&out, from, (size_t)(at - from), err) < 0 ? NULL
								    : buf_steal_string(&out, err);
}

json_t *json_string_lossy(const void *data, size_t len)
{
	autobuf struct buf out = BUF_INIT(0);
	const uint8_t *p = data;
	size_t bad = 0;

	for (size_t i = 0; i < len;) {
		size_t n = p[i] ? utf8_sequence(p + i, len - i, &bad) : 0;
		if (!p[i])
			bad = 1;
		if (n ? buf_append(&out, p + i, n, NULL) < 0
		      : buf_append(&out, "\xef\xbf\xbd", 3, NULL) < 0)
			return NULL;
		i += n ? n : bad;
	}
	return json_stringn((const char *)buf_bytes(&out), out.len);
}

static bool is_known_member(const char *key, const char *const *keys)
{
	for (; *keys; keys++)
		if (strcmp(key, *keys) == 0)
			return true;
	return false;
}

/* Copies a key of an untrusted document, so that it can be shown in a message: at most SHOWN_KEY
 * bytes, with '?' for each byte that is not printable ASCII. */
static void shown_key(const char *key, char out[SHOWN_KEY + 4])
{
	size_t n = 0;

	for (; n < SHOWN_KEY && key[n]; n++)
		out[n] = key[n] >= 0x20 && key[n] < 0x7f ? key[n] : '?';
	snprintf(out + n, 4, "%s", key[n] ? "..." : "");
}

int json_only_keys(const json_t *value, const char *path, const char *const *keys,
		   struct error *err)
{
	char shown[SHOWN_KEY + 4];

	if (!json_is_object(value))
		return error_set(err, ERR_INVALID, "%s must be an object",
				 *path ? path : "the document");
	/* jansson's iterators take a pointer to a non-const object, but do not change the object */
	json_t *obj = (json_t *)(uintptr_t)value;
	for (void *it = json_object_iter(obj); it; it = json_object_iter_next(obj, it)) {
		const char *key = json_object_iter_key(it);
		if (is_known_member(key, keys))
			continue;
		const char *near = nearest_name(key, keys);
		shown_key(key, shown);
		error_set(err, ERR_INVALID, "%s%s%s is not a known field%s%s%s", path,
			  *path ? "." : "", shown, near ? "; did you mean " : "", near ? near : "",
			  near ? "?" : "");
		return -1;
	}
	return 0;
}

/* Inserts `part` at the beginning of the path. The path is built from its end: each level of the
 * recursion inserts its part after the deeper level has returned. */
static void put_in_front(char *path, size_t size, const char *part)
{
	autofree char *rest = NULL;

	if (size == 0)
		return;
	rest = strdup(path);
	snprintf(path, size, "%s%s%s", part, *path && *path != '[' ? "." : "", rest ? rest : "");
}

static int member_differs(const json_t *a, const json_t *b, const char *key, char *path,
			  size_t size)
{
	const json_t *in_a = json_object_get(a, key), *in_b = json_object_get(b, key);
	char shown[SHOWN_KEY + 4];

	if (size > 0)
		path[0] = '\0';
	if (in_a && in_b && !json_first_difference(in_a, in_b, path, size))
		return 0;
	shown_key(key, shown);
	put_in_front(path, size, shown);
	return 1;
}

static int objects_differ(const json_t *a, const json_t *b, char *path, size_t size)
{
	/* jansson's iterators take a pointer to a non-const object, but do not change the object */
	json_t *in_a = (json_t *)(uintptr_t)a, *in_b = (json_t *)(uintptr_t)b;

	for (void *it = json_object_iter(in_a); it; it = json_object_iter_next(in_a, it))
		if (member_differs(a, b, json_object_iter_key(it), path, size))
			return 1;
	/* The keys of `a` were compared above. A key that is only in `b` is a difference too. */
	for (void *it = json_object_iter(in_b); it; it = json_object_iter_next(in_b, it))
		if (!json_object_get(a, json_object_iter_key(it)))
			return member_differs(a, b, json_object_iter_key(it), path, size);
	return 0;
}

static int arrays_differ(const json_t *a, const json_t *b, char *path, size_t size)
{
	size_t in_a = json_array_size(a), in_b = json_array_size(b);
	char part[32];

	for (size_t i = 0; i < in_a || i < in_b; i++) {
		if (size > 0)
			path[0] = '\0';
		if (i < in_a && i < in_b &&
		    !json_first_difference(json_array_get(a, i), json_array_get(b, i), path, size))
			continue;
		snprintf(part, sizeof(part), "[%zu]", i);
		put_in_front(path, size, part);
		return 1;
	}
	return 0;
}

int json_first_difference(const json_t *a, const json_t *b, char *path, size_t path_size)
{
	if (path_size > 0)
		path[0] = '\0';
	if (json_is_object(a) && json_is_object(b))
		return objects_differ(a, b, path, path_size);
	if (json_is_array(a) && json_is_array(b))
		return arrays_differ(a, b, path, path_size);
	return !json_equal(a, b);
}
