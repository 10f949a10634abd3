/* SPDX-License-Identifier: MIT */
/* The envelope form's work on files: a process of the requesting user does it, this starts it and
 * answers. */
#include <stdio.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/agent/answer_file.h"
#include "guest/agent/call_impl.h"
#include "guest/agent/conn.h"
#include "guest/agent/server.h"
#include "guest/roles.h"

struct file_op {
	const char *role;
	char *(*answer)(const struct file_end *end, struct error *err);
	enum limit most; /* bytes of its output */
	bool counted;	 /* its process is told the most entries that are wanted */
};

static const struct file_op ops[REQUEST_KIND_COUNT] = {
	[REQUEST_COPYOUT] = {ROLE_COPYOUT, answer_copyout, LIMIT_COPYOUT_BYTES, false},
	[REQUEST_WRITE] = {ROLE_WRITE, answer_write, LIMIT_FRAME_BYTES, false},
	[REQUEST_LIST] = {ROLE_LIST, answer_list, LIMIT_LIST_BYTES, true},
	[REQUEST_STAT] = {ROLE_STAT, answer_stat, LIMIT_FRAME_BYTES, false},
};

size_t call_file_room(const struct call *call)
{
	return (size_t)limit_get(call->file->most);
}

char *call_file_answer(const struct call *call, const struct job_end *end, struct error *err)
{
	const struct buf nothing = {0}, *why = &call->output.bytes[JOB_STDERR];
	struct file_end file = {.output = &nothing, .written = call->given};
	char text[1024] = "";

	if (end->start_error[0])
		snprintf(text, sizeof(text), "%s", end->start_error);
	else if (end->timed_out)
		snprintf(text, sizeof(text), "the file system took too long");
	else if (end->exit_code != 0 && why->len == 0)
		snprintf(text, sizeof(text), "the work was ended (exit code %d)", end->exit_code);
	else if (end->exit_code != 0)
		snprintf(text, sizeof(text), "%.*s", (int)(why->len < 1000 ? why->len : 1000),
			 (const char *)buf_bytes(why));
	file.error = text;
	/* What was cut ended its writer perhaps; that it was too long is the better reason. */
	file.cut = call->output.truncated[JOB_STDOUT];
	if (!text[0])
		file.output = &call->output.bytes[JOB_STDOUT];
	/* It is looked at and not kept. */
	/* cppcheck-suppress returnDanglingLifetime */
	return call->file->answer(&file, err);
}

int call_file(struct conn *conn, struct request *request, struct error *err)
{
	struct call *call = call_new(conn, CALL_FILE, "", 0, err);
	struct error why = {0};
	char number[24];

	if (!call)
		return -1;
	call->file = &ops[request->kind];
	call->given = request->stdin_bytes.len;
	snprintf(number, sizeof(number), "%llu",
		 (unsigned long long)(call->file->counted ? limit_get(LIMIT_LIST_ENTRIES)
							  : call->given));
	if (!request->problem[0]) {
		bool tell = call->file->counted || request->stdin_open;
		const char *const argv[] = {call->file->role, request->guest_path,
					    tell ? number : NULL, NULL};

		call->job = exec_file(&conn->server->context, request, argv, &call_capture_owner,
				      call, &why);
	}
	if (!call->job)
		call_unstarted(call, request->problem[0] ? request->problem : why.msg);
	else if (request->stdin_open)
		call_feed(call, &request->stdin_bytes);
	return 0;
}
