/* SPDX-License-Identifier: MIT */
#include "supervisor/live/result.h"

#include <string.h>

#include "base/base64.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"

#define GUEST_TEXT_MAX 4096 /* the greatest kept length of `error` and `startError`, in bytes */

/* Reads a time from the guest's message. Allows only digits and the punctuation of RFC 3339, since
 * the time is printed to terminals and must not control them. */
static int get_time(const json_t *message, const char *key, const char **out, struct error *err)
{
	const char *text = NULL;
	size_t len;

	if (json_get_string(message, "result", key, JSON_REQUIRED, &text, err) < 0)
		return -1;
	len = strlen(text);
	if (len < 20 || len > 40 || strspn(text, "0123456789-:.TZ") != len || text[len - 1] != 'Z')
		return error_set(
			err, ERR_INVALID,
			"the guest's message \"result\" is malformed: %s is not a time in UTC like 2026-01-31T12:00:00Z; this is a bug, or the guest attacks its host",
			key);
	*out = text;
	return 0;
}

static int put_times(json_t *result, const json_t *message, struct error *err)
{
	const char *started = NULL, *completed = NULL;

	if (get_time(message, "startedAt", &started, err) < 0 ||
	    get_time(message, "completedAt", &completed, err) < 0)
		return -1;
	if (json_put_string(result, "startedAt", started, err) < 0)
		return -1;
	return json_put_string(result, "completedAt", completed, err);
}

static int put_ending(json_t *result, const json_t *message, int *exit_code, struct error *err)
{
	int64_t code = 0, number = 0;
	bool timed_out = false;

	if (json_get_int(message, "result", "exitCode", JSON_REQUIRED, 0, 255, &code, err) < 0 ||
	    json_get_int(message, "result", "signal", JSON_OPTIONAL, 0, 64, &number, err) < 0 ||
	    json_get_bool(message, "result", "timedOut", JSON_OPTIONAL, &timed_out, err) < 0)
		return -1;
	if (json_put(result, "exitCode", json_integer(code), err) < 0)
		return -1;
	if (number > 0 && json_put(result, "signal", json_integer(number), err) < 0)
		return -1;
	if (timed_out && json_put(result, "timedOut", json_true(), err) < 0)
		return -1;
	*exit_code = (int)code;
	return 0;
}

struct stream_keys {
	const char *text, *base64, *truncated;
};

static int put_result_stream(json_t *result, const json_t *message, const struct stream_keys *keys,
			     struct error *err)
{
	autobuf struct buf bytes = BUF_INIT(limit_get(LIMIT_RESULT_STREAM_BYTES));
	const char *encoded = "";
	bool truncated = false;

	if (json_get_string(message, "result", keys->text, JSON_OPTIONAL, &encoded, err) < 0 ||
	    json_get_bool(message, "result", keys->truncated, JSON_OPTIONAL, &truncated, err) < 0)
		return -1;
	if (base64_decode(encoded, strlen(encoded), &bytes, err) < 0)
		return error_prefix(err, "result.%s", keys->text);
	if (json_put(result, keys->text, json_string_lossy(buf_bytes(&bytes), bytes.len), err) < 0)
		return -1;
	if (bytes.len > 0 && !utf8_is_whole(buf_bytes(&bytes), bytes.len) &&
	    json_put_string(result, keys->base64, encoded, err) < 0)
		return -1;
	return truncated ? json_put(result, keys->truncated, json_true(), err) : 0;
}

static int put_result_text(json_t *result, const json_t *message, const char *key,
			   struct error *err)
{
	const char *text = NULL;
	size_t len;

	if (json_get_string(message, "result", key, JSON_OPTIONAL, &text, err) < 0)
		return -1;
	if (!text)
		return 0;
	len = strnlen(text, GUEST_TEXT_MAX);
	return json_put(result, key, json_string_lossy(text, len), err);
}

json_t *result_from_message(const json_t *message, const json_t *identity, const char *backend,
			    const char *path, int *exit_code, struct error *err)
{
	static const struct stream_keys out_keys = {"stdout", "stdoutBase64", "stdoutTruncated"};
	static const struct stream_keys err_keys = {"stderr", "stderrBase64", "stderrTruncated"};
	json_auto_t *result = json_object();
	int code = 0;

	if (!result) {
		error_set(err, ERR_IO, "out of memory");
		return NULL;
	}
	if (json_put(result, "format", json_integer(1), err) < 0 ||
	    json_put(result, "identity", json_deep_copy(identity), err) < 0 ||
	    json_put_string(result, "backend", backend, err) < 0 ||
	    json_put(result, "resultPath", json_string_lossy(path, strlen(path)), err) < 0 ||
	    put_times(result, message, err) < 0 || put_ending(result, message, &code, err) < 0 ||
	    put_result_stream(result, message, &out_keys, err) < 0 ||
	    put_result_stream(result, message, &err_keys, err) < 0 ||
	    put_result_text(result, message, "error", err) < 0 ||
	    put_result_text(result, message, "startError", err) < 0)
		return NULL;
	*exit_code = code;
	return steal_ptr(&result);
}
