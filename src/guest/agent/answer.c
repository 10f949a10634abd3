/* SPDX-License-Identifier: MIT */
#include "guest/agent/answer.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/utf8.h"
#include "guest/writer.h"

#define FORMAT 1
/* The versions of the control stream's protocol that this agent speaks. */
#define PROTOCOLS "{\"min\":1,\"max\":1}"

/* Adds the bytes as base64 if they are not UTF-8, since a JSON string can have only UTF-8. Adds
 * nothing if all bytes are UTF-8. */
static void put_exact(struct writer *w, const char *key, const struct buf *bytes)
{
	if (bytes->len > 0 && !utf8_is_whole(buf_bytes(bytes), bytes->len))
		writer_base64(w, key, buf_bytes(bytes), bytes->len);
}

char *answer_envelope_exec(const struct job_end *end, const struct captured *output,
			   struct error *err)
{
	const struct buf *out = &output->bytes[JOB_STDOUT], *errors = &output->bytes[JOB_STDERR];
	struct writer w = writer_begin(err);

	writer_number(&w, "exit_code", end->exit_code);
	writer_bytes(&w, "stdout", buf_bytes(out), out->len);
	writer_bytes(&w, "stderr", buf_bytes(errors), errors->len);
	put_exact(&w, "stdout_base64", out);
	put_exact(&w, "stderr_base64", errors);
	writer_if_true(&w, "timed_out", end->timed_out);
	writer_if_true(&w, "stdout_truncated", output->truncated[JOB_STDOUT]);
	writer_if_true(&w, "stderr_truncated", output->truncated[JOB_STDERR]);
	if (end->start_error[0])
		writer_text(&w, "start_error", end->start_error);
	return writer_end(&w);
}

char *answer_envelope_error(const char *text, struct error *err)
{
	struct writer w = writer_begin(err);

	writer_text(&w, "error", text);
	return writer_end(&w);
}

/* Adds the signal that killed the command, and whether the command timed out. The answer of the
 * frame form, the last message of a stream and the workload's result have these members beside the
 * exit code. */
static void put_reasons(struct writer *w, const struct job_end *end)
{
	if (end->signal)
		writer_number(w, "signal", end->signal);
	writer_if_true(w, "timedOut", end->timed_out);
}

static void put_start_error(struct writer *w, const struct job_end *end)
{
	if (end->start_error[0])
		writer_text(w, "startError", end->start_error);
}

static void put_truncated(struct writer *w, const struct captured *output)
{
	writer_if_true(w, "stdoutTruncated", output->truncated[JOB_STDOUT]);
	writer_if_true(w, "stderrTruncated", output->truncated[JOB_STDERR]);
}

static void put_streams(struct writer *w, const struct captured *output)
{
	const struct buf *out = &output->bytes[JOB_STDOUT], *errors = &output->bytes[JOB_STDERR];

	writer_base64(w, "stdout", buf_bytes(out), out->len);
	writer_base64(w, "stderr", buf_bytes(errors), errors->len);
}

char *answer_frame_exec(const char *id, const struct job_end *end, const struct captured *output,
			struct error *err)
{
	struct writer w = writer_begin(err);

	writer_text(&w, "id", id);
	put_streams(&w, output);
	writer_number(&w, "exitCode", end->exit_code);
	writer_number(&w, "elapsedMs", end->elapsed_ms);
	writer_bool(&w, "killed", end->killed);
	put_reasons(&w, end);
	put_truncated(&w, output);
	put_start_error(&w, end);
	return writer_end(&w);
}

static struct writer event_begin(const char *event, uint64_t request, struct error *err)
{
	struct writer w = writer_begin(err);

	writer_text(&w, "event", event);
	if (request)
		writer_number(&w, "request", (int64_t)request);
	return w;
}

char *answer_start(uint64_t request, const char *id, pid_t pid, const char *exec,
		   const struct stdin_window *window, struct error *err)
{
	struct writer w = event_begin("start", request, err);

	writer_text(&w, "id", id);
	writer_number(&w, "pid", pid);
	if (exec)
		writer_text(&w, "exec", exec);
	if (window)
		writer_number(&w, "stdinOffset", (int64_t)window->taken);
	return writer_end(&w);
}

char *answer_created(uint64_t request, struct error *err)
{
	struct writer w = event_begin("created", request, err);

	return writer_end(&w);
}

char *answer_ack(uint64_t request, uint64_t stdin_offset, struct error *err)
{
	struct writer w = event_begin("ack", request, err);

	writer_number(&w, "stdinOffset", (int64_t)stdin_offset);
	return writer_end(&w);
}

char *answer_detached(uint64_t request, const struct error *why, struct error *err)
{
	struct writer w = event_begin("detached", request, err);

	writer_text(&w, "error", why->msg);
	writer_text(&w, "errorCode", error_code_name(why->code));
	return writer_end(&w);
}

char *answer_exit(uint64_t request, const char *id, const struct job_end *end, struct error *err)
{
	struct writer w = event_begin("exit", request, err);

	writer_text(&w, "id", id);
	writer_number(&w, "exitCode", end->exit_code);
	put_reasons(&w, end);
	writer_bool(&w, "killed", end->killed);
	writer_number(&w, "elapsedMs", end->elapsed_ms);
	put_start_error(&w, end);
	return writer_end(&w);
}

char *answer_error(uint64_t request, const char *text, struct error *err)
{
	struct writer w = event_begin("error", request, err);

	writer_text(&w, "error", text);
	return writer_end(&w);
}

static struct writer control_begin(const char *type, struct error *err)
{
	struct writer w = writer_begin(err);

	writer_text(&w, "type", type);
	writer_number(&w, "format", FORMAT);
	return w;
}

char *answer_hello(const char *boot_id, bool restored, bool linked, struct error *err)
{
	struct writer w = control_begin("hello", err);

	writer_raw(&w, "protocol", PROTOCOLS);
	writer_text(&w, "version", MICROAGENT_VERSION);
	writer_text(&w, "bootId", boot_id);
	writer_number(&w, "generation", 0);
	writer_if_true(&w, "restored", restored);
	writer_if_true(&w, "linked", linked);
	return writer_end(&w);
}

char *answer_ready(struct error *err)
{
	struct writer w = control_begin("ready", err);

	return writer_end(&w);
}

char *answer_ending(struct error *err)
{
	struct writer w = control_begin("ending", err);

	return writer_end(&w);
}

/* Returns an answer of the type `type`. `error` is the reason why the request failed, or NULL if
 * the request succeeded. */
static char *answer_done(const char *type, const char *error, struct error *err)
{
	struct writer w = control_begin(type, err);

	if (error)
		writer_text(&w, "error", error);
	return writer_end(&w);
}

char *answer_mounted(const char *error, struct error *err)
{
	return answer_done("mounted", error, err);
}

char *answer_published(const char *error, struct error *err)
{
	return answer_done("published", error, err);
}

static int list_ports(struct buf *list, const struct port_set *ports, struct error *err)
{
	const char *before = "[";

	for (unsigned port = 1; port <= UINT16_MAX; port++) {
		if (!port_set_has(ports, (uint16_t)port))
			continue;
		if (buf_printf(list, err, "%s%u", before, port) < 0)
			return -1;
		before = ",";
	}
	return buf_printf(list, err, list->len ? "]" : "[]");
}

char *answer_listening(const struct port_set *ports, struct error *err)
{
	struct writer w = control_begin("listening", err);
	autobuf struct buf list = BUF_INIT(0);

	if (ports && list_ports(&list, ports, err) < 0)
		w.failed = true;
	else if (ports)
		writer_raw(&w, "ports", buf_string(&list));
	return writer_end(&w);
}

char *answer_quiesced(const char *error, struct error *err)
{
	return answer_done("quiesced", error, err);
}

char *answer_settled(struct error *err)
{
	return answer_done("settled", NULL, err);
}

static void put_time(struct writer *w, const char *key, int64_t real_ns)
{
	char text[CLOCK_TEXT];

	clock_rfc3339(real_ns, text);
	writer_text(w, key, text);
}

char *answer_result(const struct job_end *end, const struct captured *output, struct error *err)
{
	struct writer w = control_begin("result", err);

	put_time(&w, "startedAt", end->started_ns);
	put_time(&w, "completedAt", end->ended_ns);
	writer_number(&w, "exitCode", end->exit_code);
	put_reasons(&w, end);
	put_streams(&w, output);
	put_truncated(&w, output);
	if (end->start_error[0])
		writer_text(&w, "error", end->start_error);
	put_start_error(&w, end);
	return writer_end(&w);
}
