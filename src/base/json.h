/* SPDX-License-Identifier: MIT */
/*
 * JSON, by jansson. Only this module knows jansson's loading rules. Loading is strict: duplicate
 * keys, raw NUL bytes, trailing text, invalid UTF-8 and depth above 64 are refused. An error about
 * a missing, mistyped or unknown key names the key by its JSON path ("config.network.mode").
 *
 * Use jansson's json_auto_t for references that must be released. In json_pack(), use the format
 * `I` for integers of 64 bits.
 */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Parses JSON. The caller releases the result. Returns NULL with ERR_INVALID on failure, and the
 * message has the line and the column. The document may be a value of any type. */
json_t *json_load_strict(const void *data, size_t len, struct error *err);
/* Parses JSON like json_load_strict(), but accepts an escaped NUL inside a string value. For
 * callers that read every string by json_get_string(). json_get_string() refuses the NUL too, and
 * its error names the field instead of a line and a column. */
json_t *json_load_nul(const void *data, size_t len, struct error *err);
/* Parses JSON of a sender that is not trusted, like json_load_strict(). First counts the objects,
 * arrays and commas, and refuses more than `most` of them with ERR_INVALID. Jansson needs about 80
 * times the bytes of a text like "[{},{},{}]". So a limit on the number of bytes alone does not
 * limit the memory enough. */
json_t *json_load_plain(const void *data, size_t len, size_t most, struct error *err);
/* Returns the value as text on one line, without a newline at the end. The keys are in the order in
 * which they were inserted. The caller frees the text. */
char *json_line(const json_t *value, struct error *err);
/* Returns the value as text that is indented by two spaces, without a newline at the end. The
 * caller frees the text. */
char *json_pretty(const json_t *value, struct error *err);

enum json_need { JSON_OPTIONAL, JSON_REQUIRED };

/*
 * The getters look up obj[key]. `path` is the JSON path of obj itself ("" for the document), and is
 * only used in messages. If the key is missing and `need` is JSON_OPTIONAL, *out stays unchanged
 * and the result is 0. If the key is missing and `need` is JSON_REQUIRED, the error is ERR_INVALID
 * "<path>.<key> is required". A value of a wrong type, also null, is ERR_INVALID "<path>.<key> must
 * be a string". A string with a NUL in it, and a number below `min` or above `max`, are ERR_INVALID
 * too. Strings, objects and arrays in *out belong to `obj`.
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
/* Removes the members that are null, at every depth: encoders of Go, Rust and Python write an
 * absent field as null. The members of an environment (env) are kept, because the caller chooses
 * their names, and a variable must have a value. Accepts NULL. */
void json_drop_nulls(json_t *value);
/* Returns the text of object[key], or `otherwise` if there is no such key or its value is not a
 * text. The result belongs to `object`, which may be NULL. Data from outside must be read by the
 * getters above instead, since these report errors. */
static inline const char *json_text(const json_t *object, const char *key, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : otherwise;
}
/* Checks that `value` is an object, and that all of its keys are in the NULL-terminated list. For
 * an unknown key the error is ERR_INVALID "<path>.<key> is not a known field", and the message
 * proposes a similar known key, if there is one. */
int json_only_keys(const json_t *value, const char *path, const char *const *keys,
		   struct error *err);

/* Set a member. ERR_IO (ENOMEM): there is no memory. json_put() releases the caller's reference to
 * `value`, also on failure. ERR_INVALID: the text of json_put_string() is not valid UTF-8. */
int json_put(json_t *obj, const char *key, json_t *value, struct error *err);
int json_put_string(json_t *obj, const char *key, const char *value, struct error *err);
/* Adds an error to `obj`: "error", "errorCode" and, if there is a reason, "errorReason" and
 * "errorSubject". */
int json_put_error(json_t *obj, const struct error *why, struct error *err);
/* Reads an error that json_put_error() has put into `obj`. If `obj` has no "error", the message is
 * `otherwise`. If `obj` has no known "errorCode", the code is ERR_INTERNAL. Returns -1, as
 * error_set() does. */
int json_get_error(const json_t *obj, const char *otherwise, struct error *err);
/* Sets a string member. Does nothing and returns 0 if `value` is NULL. */
static inline int json_put_optional(json_t *obj, const char *key, const char *value,
				    struct error *err)
{
	return value ? json_put_string(obj, key, value, err) : 0;
}
/* Returns bytes from outside (a guest's log line, for example) as a JSON string, in which invalid
 * UTF-8 and NUL are replaced by U+FFFD. Returns NULL only if there is no memory. */
json_t *json_string_lossy(const void *data, size_t len);
/* Escapes all characters of a JSON text that are not printable by base/utf8.h, except newlines, so
 * that the text can be printed on a terminal. Frees `text`, which jansson has allocated. The caller
 * frees the result. */
char *json_escape_text(char *text, struct error *err);

/* Compares two values. Returns 0 if they are equal. Otherwise returns 1, and writes the JSON path
 * of the first difference to `path`. */
int json_first_difference(const json_t *a, const json_t *b, char *path, size_t path_size);

#endif
