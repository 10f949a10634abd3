/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest-macos/mac_agent.h"

#define SECONDS_MAX (10ll * 366 * 24 * 3600)

void mac_request_free(struct mac_request *request)
{
	json_decref(request->doc);
	free(request->argv);
	buf_free(&request->stdin_bytes);
	*request = (struct mac_request){0};
}

static int take_argv(json_t *from, const char *key, struct mac_request *out, struct error *err)
{
	json_t *list = NULL, *word;
	size_t i;

	if (json_get_array(from, "", key, JSON_REQUIRED, &list, err) < 0)
		return -1;
	if (json_array_size(list) == 0)
		return error_set(err, ERR_INVALID,
				 "%s must name a program: give its name as the first word", key);
	out->argv = calloc(json_array_size(list) + 1, sizeof(*out->argv));
	if (!out->argv)
		return error_errno(err, ENOMEM, "command");
	json_array_foreach(list, i, word)
	{
		out->argv[i] = json_string_value(word);
		if (!out->argv[i] || strlen(out->argv[i]) != json_string_length(word))
			return error_set(err, ERR_INVALID, "%s[%zu] must be a string without NUL",
					 key, i);
	}
	return 0;
}

static int mac_take_env(json_t *from, struct mac_request *out, struct error *err)
{
	const char *name;
	json_t *value;

	if (json_is_null(json_object_get(from, "env")))
		return 0; /* null counts as no value, since Go writes null for an empty map */
	if (json_get_object(from, "", "env", JSON_OPTIONAL, &out->env, err) < 0)
		return -1;
	json_object_foreach(out->env, name, value)
	{
		const char *text = json_string_value(value);

		if (!*name || strchr(name, '=') || !text ||
		    strlen(text) != json_string_length(value))
			return error_set(
				err, ERR_INVALID,
				"env.%.100s is not a variable: give a name without \"=\" and a text without NUL",
				name);
	}
	return 0;
}

static int take_text(json_t *from, const char *key, const char **out, struct error *err)
{
	if (json_is_null(json_object_get(from, key)))
		return 0;
	if (json_get_string(from, "", key, JSON_OPTIONAL, out, err) < 0)
		return -1;
	if (*out && !**out)
		*out = NULL;
	return 0;
}

/* Reads the fields that envelopes and frames have in common for a command. */
static int take_common(json_t *from, const char *argv, const char *timeout, uint64_t otherwise_ms,
		       struct mac_request *out, struct error *err)
{
	int64_t seconds = 0;

	if (take_argv(from, argv, out, err) < 0 || mac_take_env(from, out, err) < 0 ||
	    take_text(from, "cwd", &out->cwd, err) < 0 ||
	    take_text(from, "user", &out->user, err) < 0)
		return -1;
	if (!json_is_null(json_object_get(from, timeout)) &&
	    json_get_int(from, "", timeout, JSON_OPTIONAL, 0, SECONDS_MAX, &seconds, err) < 0)
		return -1;
	out->timeout_ms = seconds ? (uint64_t)seconds * 1000 : otherwise_ms;
	return 0;
}

/* Refuses fields that this agent does not support. If the agent ignored these fields, the command
 * would do something else than the client wants. */
static int refuse_others(json_t *from, struct error *err)
{
	static const char *const keys[] = {"rlimits", "pty", "resume", "handOver"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = json_object_get(from, keys[i]);

		if (value && !json_is_null(value) && !json_is_false(value) &&
		    !(json_is_integer(value) && json_integer_value(value) == 0))
			return error_set(
				err, ERR_UNSUPPORTED,
				"the agent of macOS guests does not support \"%s\": leave it out",
				keys[i]);
	}
	return 0;
}

/* --- envelopes ------------------------------------------------------------------------------- */

static int mac_take_path(json_t *payload, struct mac_request *out, struct error *err)
{
	if (json_get_string(payload, "", "guest_path", JSON_REQUIRED, &out->path, err) < 0 ||
	    take_text(payload, "user", &out->user, err) < 0)
		return -1;
	if (*out->path != '/')
		return error_set(err, ERR_INVALID,
				 "guest_path must be absolute: give a path that begins with /");
	out->timeout_ms = limit_get(LIMIT_EXEC_ENVELOPE_MS);
	return 0;
}

static json_t *unknown_op(const char *op)
{
	return json_pack("{s:o}", "error", json_sprintf("unknown op: %.64s", op));
}

static int read_envelope(struct mac_request *r, json_t **refusal, struct error *err)
{
	const char *op = NULL;
	json_t *payload = NULL;
	struct error problem = {0};
	int result;

	if (!json_is_object(r->doc))
		return error_set(
			err, ERR_INVALID,
			"an envelope must be a JSON object: correct the program that sent it");
	if (json_get_string(r->doc, "", "op", JSON_REQUIRED, &op, err) < 0)
		return -1;
	if (strcmp(op, "exec") != 0 && strcmp(op, "copyout") != 0) {
		*refusal = unknown_op(op);
		return 0;
	}
	if (json_get_object(r->doc, "", "payload", JSON_REQUIRED, &payload, err) < 0)
		return -1;
	r->answer = strcmp(op, "exec") == 0 ? MAC_ENVELOPE : MAC_COPYOUT;
	result = r->answer == MAC_COPYOUT
			 ? mac_take_path(payload, r, &problem)
			 : take_common(payload, "command", "timeout_sec",
				       limit_get(LIMIT_EXEC_ENVELOPE_MS), r, &problem);
	if (result < 0 || refuse_others(payload, &problem) < 0)
		snprintf(r->problem, sizeof(r->problem), "%.290s", problem.msg);
	return 1;
}

int mac_request_envelope(const void *text, size_t len, struct mac_request *out, json_t **refusal,
			 struct error *err)
{
	struct mac_request r = {.stdin_bytes = BUF_INIT(FRAME_MAX)};
	int result;

	r.doc = json_load_strict(text, len, err);
	result = r.doc ? read_envelope(&r, refusal, err) : -1;
	if (result == 1)
		*out = r;
	else
		mac_request_free(&r);
	return result;
}

/* Returns the length in bytes of the first complete JSON value with the white space before it.
 * Returns 0 if more bytes are needed. Between two values there is a newline or nothing. */
size_t mac_envelope_length(const uint8_t *bytes, size_t len)
{
	bool in_string = false, escaped = false;
	size_t depth = 0;

	for (size_t i = 0; i < len; i++) {
		uint8_t c = bytes[i];

		if (in_string) {
			in_string = escaped || c != '"';
			escaped = !escaped && c == '\\';
		} else if (c == '"') {
			in_string = true;
		} else if (c == '{' || c == '[') {
			depth++;
		} else if (c == '}' || c == ']') {
			if (depth <= 1)
				return i + 1;
			depth--;
		} else if (depth == 0 && c == '\n' && i > 0 && !strchr(" \t\r\n", bytes[i - 1])) {
			return i + 1; /* the value is no object, which the parser reports */
		}
	}
	return 0;
}

/* --- frames ---------------------------------------------------------------------------------- */

static int mac_take_stdin(json_t *doc, struct mac_request *out, struct error *err)
{
	const char *text = NULL;

	if (take_text(doc, "stdin", &text, err) < 0)
		return -1;
	out->stdin_open = text != NULL;
	return text ? base64_decode(text, strlen(text), &out->stdin_bytes, err) : 0;
}

static int take_streaming(json_t *doc, struct mac_request *out, struct error *err)
{
	if (json_get_bool(doc, "", "stdin", JSON_OPTIONAL, &out->stdin_open, err) < 0)
		return -1;
	return json_get_bool(doc, "", "stdinWindow", JSON_OPTIONAL, &out->window, err);
}

static int take_exec(json_t *doc, struct mac_request *out, struct error *err)
{
	bool stream = out->answer == MAC_STREAMED;

	if (take_common(doc, "cmd", "timeoutSeconds", stream ? 0 : limit_get(LIMIT_EXEC_FRAME_MS),
			out, err) < 0 ||
	    refuse_others(doc, err) < 0)
		return -1;
	return stream ? take_streaming(doc, out, err) : mac_take_stdin(doc, out, err);
}

int mac_request_frame(json_t *doc, struct mac_request *out, struct error *err)
{
	struct mac_request r = {.answer = MAC_BUFFERED, .stdin_bytes = BUF_INIT(FRAME_MAX)};
	struct error problem = {0};
	bool stream = false;
	int64_t number = 0;

	if (json_get_string(doc, "", "id", JSON_REQUIRED, &r.id, err) < 0 ||
	    json_get_bool(doc, "", "stream", JSON_OPTIONAL, &stream, err) < 0)
		return -1;
	if (strlen(r.id) > MAC_ID_BYTES)
		return error_set(err, ERR_INVALID, "id is longer than %d bytes: give a shorter one",
				 MAC_ID_BYTES);
	if (stream &&
	    json_get_int(doc, "", "request", JSON_REQUIRED, 1, INT64_MAX, &number, err) < 0)
		return -1;
	r.doc = json_incref(doc);
	r.number = (uint64_t)number;
	r.answer = stream ? MAC_STREAMED : MAC_BUFFERED;
	if (take_exec(doc, &r, &problem) < 0)
		snprintf(r.problem, sizeof(r.problem), "%.290s", problem.msg);
	*out = r;
	return 0;
}
