/* SPDX-License-Identifier: MIT */
#include "guest/agent/call_file.h"

#include <stdio.h>

#include "base/limits.h"
#include "guest/agent/answer_file.h"
#include "guest/agent/call_capture.h"
#include "guest/roles.h"

struct file_op {
	const char *role;
	char *(*answer)(const struct file_end *end, struct error *err);
	enum limit most; /* the limit for the bytes of the process's output */
	bool counted;	 /* argv[2] of the process is the largest number of entries to list */
};

static const struct file_op ops[REQUEST_KIND_COUNT] = {
	[REQUEST_COPYOUT] = {ROLE_COPYOUT, answer_copyout, LIMIT_COPYOUT_BYTES, false},
	[REQUEST_WRITE] = {ROLE_WRITE, answer_write, LIMIT_FRAME_BYTES, false},
	[REQUEST_LIST] = {ROLE_LIST, answer_list, LIMIT_LIST_BYTES, true},
	[REQUEST_STAT] = {ROLE_STAT, answer_stat, LIMIT_FRAME_BYTES, false},
};

struct file_call {
	struct capture capture;
	const struct file_op *op;
	size_t given; /* the file's contents in bytes, which the process must write */
};

static char *file_answer(struct call *call, const struct job_end *end, struct error *err)
{
	const struct file_call *work = (const struct file_call *)call;
	const struct captured *output = &work->capture.output;
	const struct buf nothing = {0}, *why = &output->bytes[JOB_STDERR];
	struct file_end file = {.output = &nothing, .written = work->given};
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
	/* A process whose output was cut off at the limit may have failed because of that. The
	 * answer then gives the limit as the reason. */
	file.cut = output->truncated[JOB_STDOUT];
	if (!text[0])
		file.output = &output->bytes[JOB_STDOUT];
	/* The answer has a copy of the text, so no pointer to the text outlives this function. */
	/* cppcheck-suppress returnDanglingLifetime */
	return work->op->answer(&file, err);
}

static const struct call_kind file_kind = {
	.size = sizeof(struct file_call),
	.answer = file_answer,
	.drained = call_drained,
	.abandon = call_abandon,
	.drop = capture_drop,
};

int call_file(struct conn *conn, struct request *request, struct error *err)
{
	struct capture *capture = capture_new(conn, &file_kind, "", 0, err);
	struct file_call *work = (struct file_call *)capture;
	const struct file_op *op = &ops[request->kind];
	size_t given = request->stdin_bytes.len;
	bool tell = op->counted || request->stdin_open;
	struct error why = {0};
	char number[24];
	const char *const argv[] = {op->role, request->guest_path, tell ? number : NULL, NULL};

	if (!capture)
		return -1;
	work->op = op;
	work->given = given;
	capture->most[JOB_STDOUT] = (size_t)limit_get(op->most);
	snprintf(number, sizeof(number), "%zu",
		 op->counted ? (size_t)limit_get(LIMIT_LIST_ENTRIES) : given);
	capture->call.job =
		exec_file(conn->all->context, request, argv, &capture_owner, capture, &why);
	capture_begun(capture, request, &why);
	return 0;
}
