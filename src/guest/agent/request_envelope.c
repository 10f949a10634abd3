/* SPDX-License-Identifier: MIT */
/* Decodes requests of the envelope form, and finds the end of a request in a stream. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest/agent/request_impl.h"
#include "guest/job/pty.h"
#include "guest/roles.h"

/* Reads the keys that the requests exec and pty have in common, except the key of the command. */
static int get_surroundings(json_t *payload, uint64_t otherwise_ms, struct request *out,
			    struct error *err)
{
	if (request_get_environment(payload, "payload", out, err) < 0 ||
	    request_get_rlimits(payload, "payload", out, err) < 0 ||
	    request_get_optional_string(payload, "payload", "cwd", &out->cwd, err) < 0 ||
	    request_get_optional_string(payload, "payload", "user", &out->user, err) < 0)
		return -1;
	return request_get_timeout(payload, "payload", "timeout_sec", otherwise_ms, out, err);
}

static int decode_envelope_exec(json_t *payload, struct request *out, struct error *err)
{
	if (request_get_argv(payload, "payload", "command", out, err) < 0)
		return -1;
	return get_surroundings(payload, limit_get(LIMIT_EXEC_ENVELOPE_MS), out, err);
}

static int decode_guest_path(json_t *payload, struct request *out, struct error *err)
{
	if (json_get_string(payload, "payload", "guest_path", JSON_REQUIRED, &out->guest_path,
			    err) < 0 ||
	    request_get_optional_string(payload, "payload", "user", &out->user, err) < 0)
		return -1;
	if (out->guest_path[0] != '/')
		return error_set(err, ERR_INVALID,
				 "payload.guest_path must be an absolute path, like /root/file");
	return 0;
}

static int decode_write(json_t *payload, struct request *out, struct error *err)
{
	uint64_t most = limit_get(LIMIT_WRITE_BYTES);
	const char *text = "";

	out->stdin_open = true;
	if (decode_guest_path(payload, out, err) < 0 ||
	    json_get_string(payload, "payload", "data", JSON_OPTIONAL, &text, err) < 0)
		return -1;
	if (strlen(text) / 4 > most / 3 + 1)
		return error_set(
			err, ERR_INVALID,
			"payload.data has more than %llu bytes, which is the limit for a file: send a larger file to the stdin of a command",
			(unsigned long long)most);
	out->stdin_bytes.limit = (size_t)most;
	if (base64_decode(text, strlen(text), &out->stdin_bytes, err) < 0)
		return error_prefix(err, "payload.data");
	/* Frees the base64 text, which has been decoded and may have megabytes. */
	json_object_del(payload, "data");
	return 0;
}

static int decode_pty(json_t *payload, struct request *out, struct error *err)
{
	const json_t *command = json_object_get(payload, "command");
	bool shell = !command || (json_is_array(command) && json_array_size(command) == 0);
	int64_t rows = 0, columns = 0;

	if (json_get_int(payload, "payload", "rows", JSON_OPTIONAL, 0, PTY_SIZE_MAX, &rows, err) <
		    0 ||
	    json_get_int(payload, "payload", "cols", JSON_OPTIONAL, 0, PTY_SIZE_MAX, &columns,
			 err) < 0)
		return -1;
	/* A client that does not know the size of its terminal sends 0. */
	out->terminal = true;
	out->rows = (uint16_t)(rows ? rows : PTY_ROWS);
	out->columns = (uint16_t)(columns ? columns : PTY_COLUMNS);
	if (shell) {
		out->argv = calloc(2, sizeof(*out->argv));
		if (!out->argv)
			return error_errno(err, ENOMEM, "command");
		out->argv[0] = ROLE_SHELL;
	} else if (request_get_argv(payload, "payload", "command", out, err) < 0) {
		return -1;
	}
	return get_surroundings(payload, 0, out, err);
}

static const struct op_row {
	const char *name;
	enum request_kind kind;
	int (*payload)(json_t *payload, struct request *out, struct error *err);
} op_table[] = {
	{"exec", REQUEST_EXEC, decode_envelope_exec},
	{"copyout", REQUEST_COPYOUT, decode_guest_path},
	{"write", REQUEST_WRITE, decode_write},
	{"list", REQUEST_LIST, decode_guest_path},
	{"stat", REQUEST_STAT, decode_guest_path},
	{"pty", REQUEST_PTY, decode_pty},
};

int request_decode_op(struct request *out, struct error *err)
{
	struct error problem = {0};
	json_t *payload = NULL;

	if (json_get_string(out->doc, "", "op", JSON_REQUIRED, &out->op, err) < 0)
		return -1;
	out->kind = REQUEST_UNKNOWN_OP;
	for (size_t i = 0; i < ARRAY_SIZE(op_table); i++) {
		if (strcmp(out->op, op_table[i].name) != 0)
			continue;
		out->kind = op_table[i].kind;
		if (json_get_object(out->doc, "", "payload", JSON_REQUIRED, &payload, &problem) <
			    0 ||
		    op_table[i].payload(payload, out, &problem) < 0)
			snprintf(out->problem, sizeof(out->problem), "%.390s", problem.msg);
	}
	return 0;
}

/* Counts brackets of both kinds together, since the JSON parser checks later that they match. A
 * value that is neither an object nor an array ends at the next newline. */
size_t envelope_scan(struct envelope_scan *scan, const uint8_t *bytes, size_t len)
{
	for (; scan->at < len; scan->at++) {
		uint8_t c = bytes[scan->at];

		if (scan->in_string) {
			if (scan->escaped)
				scan->escaped = false;
			else if (c == '\\')
				scan->escaped = true;
			else if (c == '"')
				scan->in_string = false;
			continue;
		}
		if (c == '"')
			scan->in_string = true;
		else if (c == '{' || c == '[')
			scan->depth++;
		else if ((c == '}' || c == ']') && scan->depth > 0)
			scan->depth--;
		else if (c != '\n' || scan->depth > 0)
			continue;
		else
			return ++scan->at; /* the line has no object and no array, or is empty */
		if (scan->depth == 0 && !scan->in_string)
			return ++scan->at;
	}
	return 0;
}
