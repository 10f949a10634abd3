/* SPDX-License-Identifier: MIT */
#include "cli/terminal/capture.h"

#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/utf8.h"
#include "cli/cli.h"

void capture_take(void *data, bool is_stderr, const void *bytes, size_t len)
{
	struct capture *capture = data;
	struct buf *kept = &capture->bytes[is_stderr];
	size_t cap = (size_t)limit_get(LIMIT_EXEC_OUTPUT_BYTES);
	size_t room = kept->len < cap ? cap - kept->len : 0;

	if (len > room || (len > 0 && buf_append(kept, bytes, len, NULL) < 0)) {
		if (room > 0 && len > room)
			buf_append(kept, bytes, room, NULL);
		capture->truncated[is_stderr] = true;
	}
}

void capture_free(struct capture *capture)
{
	buf_free(&capture->bytes[0]);
	buf_free(&capture->bytes[1]);
}

/* Returns the length of the text in bytes. If the output was cut, the length excludes an incomplete
 * character at the end. Returns SIZE_MAX if the bytes are not a text. Bytes with a NUL are not
 * treated as a text, though NUL is valid UTF-8: many programs that read JSON refuse it. */
static size_t text_length(const uint8_t *bytes, size_t len, bool cut)
{
	size_t at = 0;

	while (at < len) {
		size_t bad = 0, n = utf8_sequence(bytes + at, len - at, &bad);

		if (n == 0 && cut && len - at < 4)
			return at;
		if (n == 0 || bytes[at] == 0)
			return SIZE_MAX;
		at += n;
	}
	return len;
}

/* Adds one stream of the output to the object, such as {"stdout":..., "stdoutEncoding":...,
 * "stdoutTruncated":...}. */
static int put_stream(json_t *object, const char *name, const struct buf *bytes, bool truncated,
		      struct error *err)
{
	size_t len = bytes->len ? text_length(buf_bytes(bytes), bytes->len, truncated) : 0;
	autofree char *base64 = NULL;
	bool is_text = len != SIZE_MAX;
	char key[32];

	if (!is_text && !(base64 = base64_encode(buf_bytes(bytes), bytes->len, err)))
		return -1;
	if (json_put(object, name,
		     is_text ? json_stringn(len ? (const char *)buf_bytes(bytes) : "", len)
			     : json_string(base64),
		     err) < 0)
		return -1;
	snprintf(key, sizeof(key), "%sEncoding", name);
	if (json_put_string(object, key, is_text ? "utf-8" : "base64", err) < 0)
		return -1;
	snprintf(key, sizeof(key), "%sTruncated", name);
	return json_put(object, key, json_boolean(truncated), err);
}

int capture_print(const struct capture *capture, const struct microagent_outcome *outcome, int code,
		  uint64_t read_by_ns, struct error *err)
{
	json_auto_t *object = json_object();
	const char *start_error = outcome->start_error;

	if (json_put(object, "exitCode", json_integer(code), err) < 0 ||
	    json_put(object, "elapsedMs", json_integer(outcome->elapsed_ms), err) < 0)
		return -1;
	if (outcome->signal && json_put(object, "signal", json_integer(outcome->signal), err) < 0)
		return -1;
	if (outcome->timed_out && json_put(object, "timedOut", json_true(), err) < 0)
		return -1;
	if (outcome->killed && json_put(object, "killed", json_true(), err) < 0)
		return -1;
	if (*start_error && json_put(object, "startError",
				     json_string_lossy(start_error, strlen(start_error)), err) < 0)
		return -1;
	if (put_stream(object, "stdout", &capture->bytes[0], capture->truncated[0], err) < 0 ||
	    put_stream(object, "stderr", &capture->bytes[1], capture->truncated[1], err) < 0)
		return -1;
	return cli_print_json_by(object, read_by_ns, err);
}
