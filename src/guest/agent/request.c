/* SPDX-License-Identifier: MIT */
#include "guest/agent/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/frame.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest/agent/request_impl.h"
#include "guest/job/environ.h"
#include "guest/job/pty.h"

#define TIMEOUT_SECONDS_MAX (10ll * 366 * 24 * 3600)
#define SIGNAL_MAX 64

void request_free(struct request *request)
{
	json_decref(request->doc);
	free(request->argv);
	contained_free(request->contained);
	buf_free(&request->stdin_bytes);
	*request = (struct request){0};
}

/* --- the parts that both forms have (request_impl.h) ------------------------------------------ */

int request_get_argv(json_t *from, const char *path, const char *key, struct request *out,
		     struct error *err)
{
	autofree const char **argv = NULL;
	json_t *array = NULL, *word;
	size_t i;

	if (json_get_array(from, path, key, JSON_REQUIRED, &array, err) < 0)
		return -1;
	if (json_array_size(array) == 0)
		return error_set(
			err, ERR_INVALID,
			"%s%s%s is an empty command: give the name of a program as its first word",
			path, *path ? "." : "", key);
	argv = calloc(json_array_size(array) + 1, sizeof(*argv));
	if (!argv)
		return error_errno(err, ENOMEM, "command");
	json_array_foreach(array, i, word)
	{
		argv[i] = json_string_value(word);
		if (!argv[i] || strlen(argv[i]) != json_string_length(word))
			return error_set(err, ERR_INVALID,
					 "%s%s%s[%zu] must be a string without NUL", path,
					 *path ? "." : "", key, i);
	}
	out->argv = steal_ptr(&argv);
	return 0;
}

int request_get_environment(json_t *from, const char *path, struct request *out, struct error *err)
{
	if (json_get_object(from, path, "env", JSON_OPTIONAL, &out->env, err) < 0)
		return -1;
	return environ_check(out->env, *path ? "payload.env" : "env", err);
}

int request_get_rlimits(json_t *from, const char *path, struct request *out, struct error *err)
{
	json_t *wanted = NULL;

	if (json_get_object(from, path, "rlimits", JSON_OPTIONAL, &wanted, err) < 0)
		return -1;
	return rlimits_decode(wanted, *path ? "payload.rlimits" : "rlimits", &out->rlimits, err);
}

int request_get_optional_string(json_t *from, const char *path, const char *key, const char **out,
				struct error *err)
{
	if (json_get_string(from, path, key, JSON_OPTIONAL, out, err) < 0)
		return -1;
	if (*out && !**out)
		*out = NULL;
	return 0;
}

int request_get_timeout(json_t *from, const char *path, const char *key, uint64_t otherwise_ms,
			struct request *out, struct error *err)
{
	int64_t seconds = 0;

	if (json_get_int(from, path, key, JSON_OPTIONAL, 0, TIMEOUT_SECONDS_MAX, &seconds, err) < 0)
		return -1;
	out->timeout_ms = seconds ? (uint64_t)seconds * 1000 : otherwise_ms;
	return 0;
}

static int get_size(json_t *from, const char *path, enum json_need need, struct request *out,
		    struct error *err)
{
	int64_t rows = PTY_ROWS, columns = PTY_COLUMNS;

	if (json_get_int(from, path, "rows", need, 1, PTY_SIZE_MAX, &rows, err) < 0 ||
	    json_get_int(from, path, "cols", need, 1, PTY_SIZE_MAX, &columns, err) < 0)
		return -1;
	out->rows = (uint16_t)rows;
	out->columns = (uint16_t)columns;
	return 0;
}

static int get_terminal(json_t *from, struct request *out, struct error *err)
{
	json_t *pty = NULL;

	if (json_get_object(from, "", "pty", JSON_OPTIONAL, &pty, err) < 0)
		return -1;
	out->terminal = pty;
	return pty ? get_size(pty, "pty", JSON_OPTIONAL, out, err) : 0;
}

/* --- the frame form -------------------------------------------------------------------------- */

static int get_exec(struct request *out, enum json_need need, struct error *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789-_";
	size_t len;

	if (json_get_string(out->doc, "", "exec", need, &out->exec, err) < 0)
		return -1;
	if (!out->exec)
		return 0;
	len = strlen(out->exec);
	if (len == 0 || len > REQUEST_EXEC_MAX || strspn(out->exec, letters) < len)
		return error_set(
			err, ERR_INVALID,
			"exec, the id of a command that can be resumed, must have 1 to %d letters, digits, \"-\" and \"_\"",
			REQUEST_EXEC_MAX);
	return 0;
}

/* Reads the id of a streamed exec, and how many seconds the command may run on without a
 * connection. */
static int get_resumption(struct request *out, struct error *err)
{
	int64_t most = (int64_t)limit_get(LIMIT_RESUME_MS) / 1000, seconds = 0;

	if (json_get_int(out->doc, "", "resume", JSON_OPTIONAL, 0, most, &seconds, err) < 0 ||
	    get_exec(out, JSON_OPTIONAL, err) < 0)
		return -1;
	if (out->exec && (seconds == 0 || strcmp(out->exec, EXEC_WORKLOAD) == 0))
		return error_set(err, ERR_INVALID,
				 seconds == 0 ? "exec needs resume"
					      : "exec must not be \"" EXEC_WORKLOAD "\"");
	out->grace_ms = (uint64_t)seconds * 1000;
	return 0;
}

static int get_window(struct request *out, struct error *err)
{
	return json_get_bool(out->doc, "", "stdinWindow", JSON_OPTIONAL, &out->stdin_window, err);
}

static int decode_exec_details(struct request *out, struct error *err)
{
	json_t *doc = out->doc;
	uint64_t otherwise = out->stream ? 0 : limit_get(LIMIT_EXEC_FRAME_MS);
	const char *text = NULL;

	if (request_get_argv(doc, "", "cmd", out, err) < 0 ||
	    request_get_environment(doc, "", out, err) < 0 ||
	    request_get_rlimits(doc, "", out, err) < 0 ||
	    request_get_optional_string(doc, "", "cwd", &out->cwd, err) < 0 ||
	    request_get_optional_string(doc, "", "user", &out->user, err) < 0 ||
	    request_get_timeout(doc, "", "timeoutSeconds", otherwise, out, err) < 0)
		return -1;
	if (!out->stream) {
		if (json_get_string(doc, "", "stdin", JSON_OPTIONAL, &text, err) < 0)
			return -1;
		if (!text || !*text)
			return 0;
		out->stdin_open = true;
		if (base64_decode(text, strlen(text), &out->stdin_bytes, err) < 0)
			return error_prefix(err, "stdin");
		return 0;
	}
	if (json_get_bool(doc, "", "stdin", JSON_OPTIONAL, &out->stdin_open, err) < 0 ||
	    get_window(out, err) < 0 ||
	    json_get_bool(doc, "", "handOver", JSON_OPTIONAL, &out->hand_over, err) < 0 ||
	    get_resumption(out, err) < 0 || get_terminal(doc, out, err) < 0 ||
	    contained_decode(doc, &out->contained, err) < 0)
		return -1;
	if (out->contained && (out->hand_over || out->grace_ms > 0))
		return error_set(
			err, ERR_INVALID,
			"a command in a container can be neither resumed nor handed over: leave out resume and handOver");
	return 0;
}

static int get_number(struct request *out, struct error *err)
{
	int64_t number = 0;

	if (json_get_int(out->doc, "", "request", JSON_REQUIRED, 1, INT64_MAX, &number, err) < 0)
		return -1;
	out->number = (uint64_t)number;
	return 0;
}

static int get_offset(struct request *out, const char *key, int stream, struct error *err)
{
	int64_t offset = 0;

	if (json_get_int(out->doc, "", key, JSON_OPTIONAL, 0, INT64_MAX, &offset, err) < 0)
		return -1;
	out->offsets[stream] = (uint64_t)offset;
	return 0;
}

static int decode_offsets(struct request *out, struct error *err)
{
	if (get_offset(out, "stdoutOffset", 0, err) < 0)
		return -1;
	return get_offset(out, "stderrOffset", 1, err);
}

static int decode_attach(struct request *out, struct error *err)
{
	if (get_exec(out, JSON_REQUIRED, err) < 0 || decode_offsets(out, err) < 0 ||
	    get_window(out, err) < 0)
		return -1;
	return get_terminal(out->doc, out, err);
}

static int decode_signal(struct request *out, struct error *err)
{
	int64_t number = 0;

	if (json_get_int(out->doc, "", "signal", JSON_REQUIRED, 1, SIGNAL_MAX, &number, err) < 0)
		return -1;
	out->signal = (int)number;
	return 0;
}

static int decode_resize(struct request *out, struct error *err)
{
	return get_size(out->doc, "", JSON_REQUIRED, out, err);
}

static const struct event_row {
	const char *name;
	enum request_kind kind;
	int (*details)(struct request *out, struct error *err);
} event_table[] = {
	{"attach", REQUEST_ATTACH, decode_attach}, {"signal", REQUEST_SIGNAL, decode_signal},
	{"resize", REQUEST_RESIZE, decode_resize}, {"stdin-close", REQUEST_STDIN_CLOSE, NULL},
	{"cancel", REQUEST_CANCEL, NULL},	   {"ack", REQUEST_ACK, decode_offsets},
	{"release", REQUEST_RELEASE, NULL},	   {"start", REQUEST_START, NULL},
};

static int decode_event(const char *name, struct request *out, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(event_table); i++) {
		const struct event_row *row = &event_table[i];

		if (strcmp(name, row->name) != 0)
			continue;
		out->kind = row->kind;
		if (get_number(out, err) < 0)
			return -1;
		return row->details ? row->details(out, err) : 0;
	}
	return error_set(
		err, ERR_INVALID,
		"the guest's agent does not know the event \"%.64s\": this is a bug, or the guest's agent is of another version than microagent on the host",
		name);
}

static int decode_frame(struct request *out, struct error *err)
{
	const char *event = NULL;
	struct error problem = {0};

	if (json_get_string(out->doc, "", "event", JSON_OPTIONAL, &event, err) < 0)
		return -1;
	if (event)
		return decode_event(event, out, err);
	out->kind = REQUEST_EXEC;
	if (json_get_string(out->doc, "", "id", JSON_REQUIRED, &out->id, err) < 0)
		return -1;
	if (strlen(out->id) > REQUEST_ID_MAX)
		return error_set(
			err, ERR_INVALID,
			"id, the name of the request, is longer than %d bytes: give a shorter one",
			REQUEST_ID_MAX);
	if (json_get_bool(out->doc, "", "stream", JSON_OPTIONAL, &out->stream, err) < 0)
		return -1;
	if (out->stream && get_number(out, err) < 0)
		return -1;
	if (decode_exec_details(out, &problem) < 0)
		snprintf(out->problem, sizeof(out->problem), "%.390s", problem.msg);
	return 0;
}

/* --- both ------------------------------------------------------------------------------------ */

static int decode_request(const void *text, size_t len,
			  int (*form)(struct request *, struct error *), struct request *out,
			  struct error *err)
{
	struct request request = {.stdin_bytes = BUF_INIT(FRAME_MAX)};

	request.doc = json_load_strict(text, len, err);
	if (!request.doc)
		return -1;
	if (!json_is_object(request.doc)) {
		request_free(&request);
		return error_set(
			err, ERR_INVALID,
			"a request to the guest's agent must be a JSON object: correct the program that sent it");
	}
	json_drop_nulls(request.doc);
	if (form(&request, err) < 0) {
		request_free(&request);
		return -1;
	}
	*out = request;
	return 0;
}

int request_decode_envelope(const void *text, size_t len, struct request *out, struct error *err)
{
	return decode_request(text, len, request_decode_op, out, err);
}

int request_decode_frame(const void *text, size_t len, struct request *out, struct error *err)
{
	return decode_request(text, len, decode_frame, out, err);
}

int request_decode_workload(json_t *config, struct request *out, struct error *err)
{
	struct request request = {.kind = REQUEST_EXEC, .doc = json_incref(config)};

	/* The key env is not read here, since it is not only for the workload. config_decode()
	 * reads the key env for all commands of the guest. */
	if (request_get_argv(config, "", "command", &request, err) < 0 ||
	    request_get_optional_string(config, "", "cwd", &request.cwd, err) < 0 ||
	    request_get_optional_string(config, "", "user", &request.user, err) < 0 ||
	    request_get_timeout(config, "", "timeoutSeconds", 0, &request, err) < 0) {
		request_free(&request);
		return -1;
	}
	*out = request;
	return 0;
}
