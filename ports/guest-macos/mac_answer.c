/* SPDX-License-Identifier: MIT */
/* Makes the messages about a command, in the forms of docs/agent-protocol.md. The functions return
 * NULL if there is no memory. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/base64.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/utf8.h"
#include "guest-macos/mac_agent.h"

enum { CODE_TIMED_OUT = 124, CODE_SIGNAL = 128 };

static int end_signal(const struct mac_job *job)
{
	int status = job->status;

	return !job->start_error[0] && WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static int end_code(const struct mac_job *job)
{
	int status = job->status;

	if (job->start_error[0])
		return job->code;
	if (job->timed_out)
		return CODE_TIMED_OUT;
	return end_signal(job) ? CODE_SIGNAL + end_signal(job) : WEXITSTATUS(status);
}

static int mac_put_base64(json_t *to, const char *key, const struct buf *bytes)
{
	autofree char *text = base64_encode(buf_bytes(bytes), bytes->len, NULL);

	return text ? json_object_set_new(to, key, json_string(text)) : -1;
}

static int put_true(json_t *to, const char *key, bool value)
{
	return value ? json_object_set_new(to, key, json_true()) : 0;
}

static int put_start_failure(json_t *to, const char *key, const struct mac_job *job)
{
	return job->start_error[0] ? json_object_set_new(to, key, json_string(job->start_error))
				   : 0;
}

/* Adds the output of a stream to an object, as text in the member `key`. If the bytes are not
 * UTF-8, also adds the exact bytes as base64 in the member `exact`. */
static int put_stream_text(json_t *to, const char *key, const char *exact, const struct buf *bytes)
{
	if (json_object_set_new(to, key, json_string_lossy(buf_bytes(bytes), bytes->len)) < 0)
		return -1;
	return bytes->len == 0 || utf8_is_whole(buf_bytes(bytes), bytes->len)
		       ? 0
		       : mac_put_base64(to, exact, bytes);
}

static json_t *envelope_end(const struct mac_job *job)
{
	json_auto_t *answer = json_object();

	if (!answer || json_object_set_new(answer, "exit_code", json_integer(end_code(job))) < 0 ||
	    put_stream_text(answer, "stdout", "stdout_base64", &job->captured[0]) < 0 ||
	    put_stream_text(answer, "stderr", "stderr_base64", &job->captured[1]) < 0 ||
	    put_true(answer, "timed_out", job->timed_out) < 0 ||
	    put_true(answer, "stdout_truncated", job->truncated[0]) < 0 ||
	    put_true(answer, "stderr_truncated", job->truncated[1]) < 0 ||
	    put_start_failure(answer, "start_error", job) < 0)
		return NULL;
	return json_incref(answer);
}

/* Makes the answer to a copyout. If the child process could not read the file, the reason is in the
 * stderr that it has written. */
static json_t *copyout_end(const struct mac_job *job)
{
	const struct buf *why = &job->captured[1], *data = &job->captured[0], none = {0};
	bool failed = end_code(job) != 0 || job->truncated[0];
	json_auto_t *answer = json_object(), *text = NULL;

	if (!failed)
		text = json_string("");
	else if (job->start_error[0])
		text = json_string(job->start_error);
	else if (why->len > 0)
		text = json_string_lossy(buf_bytes(why), why->len);
	else
		text = json_string("the file could not be read");
	if (!answer || !text || mac_put_base64(answer, "data", failed ? &none : data) < 0 ||
	    json_object_set(answer, "error", text) < 0)
		return NULL;
	return json_incref(answer);
}

static int put_reasons_of_end(json_t *answer, const struct mac_job *job)
{
	int signal = end_signal(job);

	if ((signal && json_object_set_new(answer, "signal", json_integer(signal)) < 0) ||
	    put_true(answer, "timedOut", job->timed_out) < 0)
		return -1;
	return put_start_failure(answer, "startError", job);
}

static int mac_put_end(json_t *answer, const struct mac_job *job)
{
	uint64_t elapsed = (job->ended_ns - job->began_ns) / NS_PER_MS;

	if (json_object_set_new(answer, "id", json_string(job->id)) < 0 ||
	    json_object_set_new(answer, "exitCode", json_integer(end_code(job))) < 0 ||
	    json_object_set_new(answer, "elapsedMs", json_integer((json_int_t)elapsed)) < 0 ||
	    json_object_set_new(answer, "killed", json_boolean(job->killed)) < 0)
		return -1;
	return put_reasons_of_end(answer, job);
}

static json_t *buffered_end(const struct mac_job *job)
{
	json_auto_t *answer = json_object();

	if (!answer || mac_put_end(answer, job) < 0 ||
	    mac_put_base64(answer, "stdout", &job->captured[0]) < 0 ||
	    mac_put_base64(answer, "stderr", &job->captured[1]) < 0 ||
	    put_true(answer, "stdoutTruncated", job->truncated[0]) < 0 ||
	    put_true(answer, "stderrTruncated", job->truncated[1]) < 0)
		return NULL;
	return json_incref(answer);
}

static json_t *new_event(const char *event, uint64_t number)
{
	json_t *answer = json_pack("{s:s}", "event", event);

	if (answer && number &&
	    json_object_set_new(answer, "request", json_integer((json_int_t)number)) < 0) {
		json_decref(answer);
		return NULL;
	}
	return answer;
}

static json_t *streamed_end(const struct mac_job *job)
{
	json_auto_t *answer = new_event("exit", job->number);

	return answer && mac_put_end(answer, job) == 0 ? json_incref(answer) : NULL;
}

json_t *mac_answer_end(const struct mac_job *job)
{
	static json_t *(*const forms[])(const struct mac_job *job) = {
		[MAC_ENVELOPE] = envelope_end,
		[MAC_COPYOUT] = copyout_end,
		[MAC_BUFFERED] = buffered_end,
		[MAC_STREAMED] = streamed_end,
	};

	return forms[job->answer](job);
}

json_t *mac_answer_start(const struct mac_job *job)
{
	json_auto_t *answer = new_event("start", job->number);

	if (!answer || json_object_set_new(answer, "id", json_string(job->id)) < 0 ||
	    json_object_set_new(answer, "pid", json_integer(job->pid)) < 0 ||
	    (job->window && json_object_set_new(answer, "stdinOffset", json_integer(0)) < 0))
		return NULL;
	return json_incref(answer);
}

json_t *mac_answer_ack(const struct mac_job *job)
{
	json_auto_t *answer = new_event("ack", job->number);

	if (!answer ||
	    json_object_set_new(answer, "stdinOffset", json_integer((json_int_t)job->taken)) < 0)
		return NULL;
	return json_incref(answer);
}

json_t *mac_answer_error(uint64_t number, const char *text)
{
	json_auto_t *answer = new_event("error", number);

	if (!answer || json_object_set_new(answer, "error", json_string(text)) < 0)
		return NULL;
	return json_incref(answer);
}

json_t *mac_answer_detached(uint64_t number, const char *code, const char *text)
{
	json_auto_t *answer = new_event("detached", number);

	if (!answer || json_object_set_new(answer, "error", json_string(text)) < 0 ||
	    json_object_set_new(answer, "errorCode", json_string(code)) < 0)
		return NULL;
	return json_incref(answer);
}
