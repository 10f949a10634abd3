/* SPDX-License-Identifier: MIT */
#include "guest/agent/call_capture.h"

#include "base/agent_wire.h"
#include "base/frame.h"
#include "base/limits.h"

#define SPACE_FIRST 4096
#define SPACE_MOST 65536

/* The largest number of bytes of stdout and stderr together for which an answer fits into one
 * frame. The answer has the bytes as base64, and further members. */
#define FRAME_OUTPUT_MAX ((size_t)(FRAME_MAX - 16384) / 4 * 3)

static uint8_t nowhere[SPACE_MOST];

struct capture *capture_new(struct conn *conn, const struct call_kind *kind, const char *id,
			    uint64_t number, struct error *err)
{
	struct capture *capture = (struct capture *)call_new(conn, kind, id, number, err);

	if (!capture)
		return NULL;
	for (int i = 0; i < JOB_STREAMS; i++)
		capture->most[i] = (size_t)limit_get(LIMIT_EXEC_OUTPUT_BYTES);
	capture->most_together = SIZE_MAX;
	return capture;
}

void capture_drop(struct call *call)
{
	struct capture *capture = (struct capture *)call;

	for (int i = 0; i < JOB_STREAMS; i++)
		buf_free(&capture->output.bytes[i]);
	buf_free(&capture->stdin_bytes);
}

/* --- output ---------------------------------------------------------------------------------- */

/* Returns memory for a command's output. The memory is small at first, since most commands write
 * little and many commands may run at a time. Output above the limit is read into `nowhere` and
 * dropped, so that the command need not wait. */
static uint8_t *capture_space(void *data, enum job_stream stream, size_t *room)
{
	struct capture *capture = data;
	const struct buf *both = capture->output.bytes;
	struct buf *bytes = &capture->output.bytes[stream];
	size_t together = capture->most_together - both[JOB_STDOUT].len - both[JOB_STDERR].len;
	size_t most = bytes->len < capture->most[stream] ? capture->most[stream] - bytes->len : 0;
	size_t wanted = bytes->len < SPACE_FIRST ? SPACE_FIRST : bytes->len;
	uint8_t *space;

	if (most > together)
		most = together;
	if (wanted > SPACE_MOST)
		wanted = SPACE_MOST;
	*room = wanted < most ? wanted : most;
	space = most > 0 ? buf_reserve(bytes, *room, NULL) : NULL;
	capture->dropping = !space;
	if (!space) {
		*room = sizeof(nowhere);
		return nowhere;
	}
	return space;
}

static void capture_output(void *data, enum job_stream stream, size_t len)
{
	struct capture *capture = data;

	if (capture->dropping)
		capture->output.truncated[stream] = true;
	else
		buf_commit(&capture->output.bytes[stream], len);
}

/* --- stdin, at whose end it is closed -------------------------------------------------------- */

static void capture_feed(void *data)
{
	struct capture *capture = data;
	struct job *job = capture->call.job;
	struct buf *bytes = &capture->stdin_bytes;

	if (!job || !capture->stdin_whole)
		return;
	if (bytes->len > 0)
		buf_consume(bytes, job_write_stdin(job, buf_bytes(bytes), bytes->len));
	if (bytes->len > 0)
		return;
	capture->stdin_whole = false;
	job_close_stdin(job);
}

void capture_begun(struct capture *capture, struct request *request, const struct error *why)
{
	if (!capture->call.job) {
		call_unstarted(&capture->call, why->msg);
		return;
	}
	if (!request->stdin_open)
		return;
	capture->stdin_bytes = request->stdin_bytes;
	request->stdin_bytes = (struct buf){0};
	capture->stdin_whole = true;
	capture_feed(capture);
}

const struct job_owner capture_owner = {
	.space = capture_space,
	.output = capture_output,
	.stdin_room = capture_feed,
	.ended = call_job_ended,
};

/* --- an exec --------------------------------------------------------------------------------- */

/* If the command could not be started, adds the reason to stderr. A client that reads only stdout
 * and stderr then also gets the reason. */
static const struct captured *explained(struct call *call, const struct job_end *end)
{
	struct capture *capture = (struct capture *)call;

	if (end->start_error[0])
		buf_printf(&capture->output.bytes[JOB_STDERR], NULL, "microagent: %s\n",
			   end->start_error);
	return &capture->output;
}

static char *answer_by_envelope(struct call *call, const struct job_end *end, struct error *err)
{
	return answer_envelope_exec(end, explained(call, end), err);
}

static char *answer_by_frame(struct call *call, const struct job_end *end, struct error *err)
{
	return answer_frame_exec(call->id, end, explained(call, end), err);
}

static const struct call_kind envelope_kind = {
	.size = sizeof(struct capture),
	.answer = answer_by_envelope,
	.drained = call_drained,
	.abandon = call_abandon,
	.drop = capture_drop,
};

static const struct call_kind frame_kind = {
	.size = sizeof(struct capture),
	.answer = answer_by_frame,
	.event = call_event,
	.drained = call_drained,
	.abandon = call_abandon,
	.drop = capture_drop,
};

static void capture_start(struct capture *capture, struct request *request)
{
	struct call *call = &capture->call;
	struct error why = {0};

	call->job = exec_start(call->conn->all->context, request, &capture_owner, call, &why);
	capture_begun(capture, request, &why);
}

int capture_envelope(struct conn *conn, struct request *request, struct error *err)
{
	struct capture *capture = capture_new(conn, &envelope_kind, "", 0, err);

	if (!capture)
		return -1;
	capture_start(capture, request);
	return 0;
}

int capture_frame(struct conn *conn, struct request *request, struct error *err)
{
	struct capture *capture = capture_new(conn, &frame_kind, request->id ? request->id : "",
					      request->number, err);

	if (!capture)
		return -1;
	capture->most_together = FRAME_OUTPUT_MAX;
	capture_start(capture, request);
	return 0;
}
