/* SPDX-License-Identifier: MIT */
/*
 * This module is stricter than jansson in two ways. Jansson skips a raw NUL after a number or a
 * literal (akheron/jansson#331), so this module searches for NUL before it parses. Jansson accepts
 * a depth of 2048, so this module counts brackets before it parses. Therefore a loaded value is
 * never deep, and recursive functions may walk it.
 */
#include "base/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_DEPTH 64

static int error_at(struct error *err, const char *text, size_t pos, const char *what)
{
	size_t line = 1, column = 1;

	for (size_t i = 0; i < pos; i++) {
		column = text[i] == '\n' ? 1 : column + 1;
		line += text[i] == '\n';
	}
	return error_set(err, ERR_INVALID, "line %zu, column %zu: %s", line, column, what);
}

/* Checks that brackets are nested at most MAX_DEPTH deep. In a malformed document the count may be
 * wrong, but the parser refuses such a document. */
static int check_depth(const char *text, size_t len, struct error *err)
{
	bool in_string = false;
	size_t depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (in_string)
			continue;
		else if ((c == '{' || c == '[') && ++depth > MAX_DEPTH)
			return error_at(err, text, i, "nested deeper than 64 levels");
		else if ((c == '}' || c == ']') && depth > 0)
			depth--;
	}
	return 0;
}

/* Returns a text for an error of the parser. Jansson's own text is not used, because it quotes the
 * input, which may be hostile. */
static const char *json_fault(const json_error_t *why)
{
	switch (json_error_code(why)) {
	case json_error_premature_end_of_input:
		return "the document ends too early";
	case json_error_end_of_input_expected:
		return "there is text after the end of the document";
	case json_error_invalid_utf8:
		return "there are bytes that are not UTF-8";
	case json_error_null_character:
	case json_error_null_byte_in_key:
		return "there is a NUL (\\u0000) in a text";
	case json_error_duplicate_key:
		return "the same key occurs twice";
	case json_error_numeric_overflow:
		return "a number is too large";
	default:
		return "it is not JSON";
	}
}

static json_t *load_json(const void *data, size_t len, size_t flags, struct error *err)
{
	const char *text = data;
	const char *nul = len ? memchr(text, 0, len) : NULL;
	json_error_t why;
	json_t *value;

	if (len == 0) {
		error_set(err, ERR_INVALID, "the JSON document is empty");
		return NULL;
	}
	if (nul) {
		error_at(err, text, (size_t)(nul - text), "there is a NUL byte");
		return NULL;
	}
	if (check_depth(text, len, err) < 0)
		return NULL;
	value = json_loadb(text, len, flags | JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
	if (!value && json_error_code(&why) == json_error_out_of_memory) {
		error_errno(err, ENOMEM, "JSON document of %zu bytes", len);
	} else if (!value) {
		error_set(err, ERR_INVALID, "line %d, column %d: %s", why.line, why.column,
			  json_fault(&why));
	}
	return value;
}

json_t *json_load_strict(const void *data, size_t len, struct error *err)
{
	return load_json(data, len, 0, err);
}

json_t *json_load_nul(const void *data, size_t len, struct error *err)
{
	return load_json(data, len, JSON_ALLOW_NUL, err);
}

/* Returns true if the text has at most `most` objects, arrays and commas. After the first error of
 * a malformed document the count may be wrong, but the parser does not read that far. */
static bool is_plain(const char *text, size_t len, size_t most)
{
	size_t structure = 0;
	bool in_string = false; /* inside a string, brackets and commas are not counted */

	for (size_t i = 0; i < len; i++) {
		if (in_string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			in_string = !in_string;
		else if (!in_string && (text[i] == '{' || text[i] == '[' || text[i] == ','))
			structure++;
	}
	return structure <= most;
}

json_t *json_load_plain(const void *data, size_t len, size_t most, struct error *err)
{
	if (is_plain(data, len, most))
		return json_load_strict(data, len, err);
	error_set(
		err, ERR_INVALID,
		"the document has too many members, more than %zu: this is a bug, or its sender attacks the host",
		most);
	return NULL;
}

static char *dump(const json_t *value, size_t flags, struct error *err)
{
	char *text = json_dumps(value, flags | JSON_ENCODE_ANY);

	if (!text && !value)
		error_set(
			err, ERR_INTERNAL,
			"there is no JSON value to write: this is a bug of microagent, or memory is short");
	else if (!text)
		error_errno(err, ENOMEM, "JSON text");
	return text ? json_escape_text(text, err) : NULL;
}

char *json_line(const json_t *value, struct error *err)
{
	return dump(value, JSON_COMPACT, err);
}

char *json_pretty(const json_t *value, struct error *err)
{
	return dump(value, JSON_INDENT(2), err);
}

/* Sets the error "<path>.<key> <text>". */
static int field_error(struct error *err, const char *path, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
static int field_error(struct error *err, const char *path, const char *key, const char *fmt, ...)
{
	char text[256];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return error_set(err, ERR_INVALID, "%s%s%s %s", path, *path && *key ? "." : "", key, text);
}

static int not_an_object(const char *path, struct error *err)
{
	return error_set(err, ERR_INVALID, "%s must be an object", *path ? path : "the document");
}

/* Looks up a key. Returns 1 and sets *value if `obj` has the key. Returns 0 if `obj` does not have
 * the key and the key is optional. Returns -1 with an error otherwise. */
static int look_up(const json_t *obj, const char *path, const char *key, enum json_need need,
		   const json_t **value, struct error *err)
{
	if (!json_is_object(obj))
		return not_an_object(path, err);
	*value = json_object_get(obj, key);
	if (*value)
		return 1;
	if (need == JSON_REQUIRED)
		return field_error(err, path, key, "is required");
	return 0;
}

int json_get_string(const json_t *obj, const char *path, const char *key, enum json_need need,
		    const char **out, struct error *err)
{
	const json_t *value;
	int found = look_up(obj, path, key, need, &value, err);

	if (found <= 0)
		return found;
	if (!json_is_string(value))
		return field_error(err, path, key, "must be a string");
	if (strlen(json_string_value(value)) != json_string_length(value))
		return field_error(err, path, key, "must not hold a NUL character");
	*out = json_string_value(value);
	return 0;
}

int json_get_bool(const json_t *obj, const char *path, const char *key, enum json_need need,
		  bool *out, struct error *err)
{
	const json_t *value;
	int found = look_up(obj, path, key, need, &value, err);

	if (found <= 0)
		return found;
	if (!json_is_boolean(value))
		return field_error(err, path, key, "must be true or false");
	*out = json_is_true(value);
	return 0;
}

/* Reads a whole number. Returns false for any other value. "512.0" is also accepted: JSON Schema
 * calls it an integer, and some encoders write integers in this form. Beyond 2^53 this form is
 * refused, since the double may differ from the number in the text. */
static bool read_whole_number(const json_t *value, int64_t *out)
{
	const double most = 9007199254740992.0;
	double real = json_real_value(value);

	if (json_is_integer(value)) {
		*out = json_integer_value(value);
		return true;
	}
	if (!json_is_real(value) || real < -most || real > most || (double)(int64_t)real != real)
		return false;
	*out = (int64_t)real;
	return true;
}

int json_get_int(const json_t *obj, const char *path, const char *key, enum json_need need,
		 int64_t min, int64_t max, int64_t *out, struct error *err)
{
	const json_t *value;
	int found = look_up(obj, path, key, need, &value, err);
	int64_t n;

	if (found <= 0)
		return found;
	if (!read_whole_number(value, &n))
		return field_error(err, path, key, "must be an integer");
	if ((n < min || n > max) && max == INT64_MAX)
		return field_error(err, path, key, "must be at least %lld", (long long)min);
	if ((n < min || n > max) && min == INT64_MIN)
		return field_error(err, path, key, "must be at most %lld", (long long)max);
	if (n < min || n > max)
		return field_error(err, path, key, "must be from %lld to %lld", (long long)min,
				   (long long)max);
	*out = n;
	return 0;
}

static int get_container(const json_t *obj, const char *path, const char *key, enum json_need need,
			 json_type type, json_t **out, struct error *err)
{
	const json_t *value;
	int found = look_up(obj, path, key, need, &value, err);

	if (found <= 0)
		return found;
	if (json_typeof(value) != type)
		return field_error(err, path, key, "must be an %s",
				   type == JSON_OBJECT ? "object" : "array");
	*out = json_object_get(obj, key);
	return 0;
}

int json_get_object(const json_t *obj, const char *path, const char *key, enum json_need need,
		    json_t **out, struct error *err)
{
	return get_container(obj, path, key, need, JSON_OBJECT, out, err);
}

int json_get_array(const json_t *obj, const char *path, const char *key, enum json_need need,
		   json_t **out, struct error *err)
{
	return get_container(obj, path, key, need, JSON_ARRAY, out, err);
}

int json_put(json_t *obj, const char *key, json_t *value, struct error *err)
{
	if (json_object_set_new(obj, key, value) < 0)
		return error_errno(err, ENOMEM, "JSON field %s", key);
	return 0;
}

int json_put_string(json_t *obj, const char *key, const char *value, struct error *err)
{
	json_t *text = value ? json_string(value) : NULL;

	if (!value)
		return error_set(
			err, ERR_INTERNAL,
			"there is no value for the JSON field %s: this is a bug of microagent, or memory is short",
			key);
	/* jansson returns NULL for invalid UTF-8, and also if there is no memory.
	 * json_string_lossy() is called to find out the reason, because it fails only if there is
	 * no memory. */
	if (!text && (text = json_string_lossy(value, strlen(value)))) {
		json_decref(text);
		return error_set(err, ERR_INVALID, "%s is not valid UTF-8", key);
	}
	return json_put(obj, key, text, err);
}

int json_put_error(json_t *obj, const struct error *why, struct error *err)
{
	if (json_put(obj, "error", json_string_lossy(why->msg, strlen(why->msg)), err) < 0 ||
	    json_put_string(obj, "errorCode", error_code_name(why->code), err) < 0)
		return -1;
	if (why->reason == REASON_NONE)
		return 0;
	if (json_put_string(obj, "errorReason", error_reason_name(why->reason), err) < 0)
		return -1;
	return *why->subject ? json_put(obj, "errorSubject",
					json_string_lossy(why->subject, strlen(why->subject)), err)
			     : 0;
}

int json_get_error(const json_t *obj, const char *otherwise, struct error *err)
{
	const char *reason = json_text(obj, "errorReason", "");

	error_set(err, error_code_from_name(json_text(obj, "errorCode", "")), "%s",
		  json_text(obj, "error", otherwise));
	return error_reason(err, error_reason_from_name(reason),
			    json_text(obj, "errorSubject", ""));
}

void json_drop_nulls(json_t *value)
{
	const char *key;
	json_t *member;
	void *next;
	size_t i;

	json_object_foreach_safe(value, next, key, member)
	{
		if (json_is_null(member))
			(void)json_object_del(value, key);
		else if (strcmp(key, "env") != 0)
			json_drop_nulls(member);
	}
	json_array_foreach(value, i, member)
	{
		json_drop_nulls(member);
	}
}
