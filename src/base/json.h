/* SPDX-License-Identifier: MIT */
/*
 * JSON, by jansson, and the only place that knows jansson's loading rules. Loading is strict:
 * duplicate keys, raw NUL bytes, trailing text, invalid UTF-8 and depth above 64 are refused.
 * Decoding names the missing, mistyped and unknown key by its JSON path ("config.network.mode").
 *
 * Use json_auto_t (jansson) for references that must be dropped, and the `I` formats, never `i`.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* NULL with ERR_INVALID and line:column. The top value may be of any type. */
json_t *json_load_strict(const void *data, size_t len, struct error *err);
/* The same, but an escaped NUL inside a string value is loaded. For callers that read every string
 * by a getter, so that it is refused with the path of its field and not with a line and column. */
json_t *json_load_nul(const void *data, size_t len, struct error *err);
/* One line, no trailing newline; malloc'd. Key order is insertion order. */
char *json_line(const json_t *value, struct error *err);
/* Two-space indented, no trailing newline; malloc'd. */
char *json_pretty(const json_t *value, struct error *err);

enum json_need { JSON_OPTIONAL, JSON_REQUIRED };

/*
 * The getters look up obj[key]; path is the JSON path of obj itself ("" for the top) and only goes
 * into messages. Missing: optional leaves *out as it was and returns 0, required is ERR_INVALID
 * "<path>.<key> is required". null counts as a wrong type. Wrong type: ERR_INVALID
 * "<path>.<key> must be a string". Strings with an embedded NUL are refused. Results are borrowed
 * from obj.
 */
int json_get_string(const json_t *obj, const char *path, const char *key, enum json_need need,
		    const char **out, struct error *err);
int json_get_bool(const json_t *obj, const char *path, const char *key, enum json_need need,
		  bool *out, struct error *err);
int json_get_int(const json_t *obj, const char *path, const char *key, enum json_need need,
		 int64_t min, int64_t max, int64_t *out, struct error *err);
int json_get_object(const json_t *obj, const char *path, const char *key, enum json_need need,
		    json_t **out, struct error *err);
int json_get_array(const json_t *obj, const char *path, const char *key, enum json_need need,
		   json_t **out, struct error *err);
/* Takes out the members that are null, at every depth: encoders of Go, Rust and Python write a field
 * that is not there so. The names of an environment (env) are the caller's own, and a variable has a
 * value or is not named. NULL is accepted. */
void json_drop_nulls(json_t *value);
/* The text of object[key]; otherwise where there is none or it is no text. Borrowed from object,
 * which may be NULL. For values whose shape is known; what comes from outside is read by the
 * getters. */
static inline const char *json_text(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}
/* value must be an object whose every key is in the NULL-terminated list; an unknown one is
 * ERR_INVALID "<path>.<key> is not a known field", with the nearest known one if it is close. */
int json_only_keys(const json_t *value, const char *path, const char *const *keys,
		   struct error *err);

/* Setters that fail with ERR_IO (ENOMEM); value references are stolen even on failure. */
int json_put(json_t *obj, const char *key, json_t *value, struct error *err);
int json_put_string(json_t *obj, const char *key, const char *value, struct error *err);
/* An error as it travels: "error", "errorCode" and, where there is a reason, "errorReason" and
 * "errorSubject". */
int json_put_error(json_t *obj, const struct error *why, struct error *err);
/* The reverse. Without a text in obj: otherwise, ERR_INTERNAL. Returns -1, as error_set() does. */
int json_get_error(const json_t *obj, const char *otherwise, struct error *err);
/* Nothing where value is NULL. */
static inline int json_put_optional(json_t *obj, const char *key, const char *value,
				    struct error *err)
{
	return value ? json_put_string(obj, key, value, err) : 0;
}
/* Bytes from outside (a guest's log line, say) as a JSON string: invalid UTF-8 and NUL become
 * U+FFFD. */
json_t *json_string_lossy(const void *data, size_t len);
/* Escapes what is no text by base/utf8.h, for a terminal. The text is stolen, and is as jansson
 * made it. */
char *json_escape_text(char *text, struct error *err);

/* Walks two values in step. 0 if equal, else 1 and the path of the first difference. */
int json_first_difference(const json_t *a, const json_t *b, char *path, size_t path_size);

#endif
