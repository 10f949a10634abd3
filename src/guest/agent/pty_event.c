/* SPDX-License-Identifier: MIT */
#include "guest/agent/pty_event.h"

#include <string.h>

#include "base/base64.h"
#include "base/frame.h"
#include "base/json.h"
#include "guest/job/pty.h"
#include "guest/writer.h"

void pty_event_free(struct pty_event *event)
{
	buf_free(&event->data);
}

static int decode_pty_event(const json_t *doc, struct pty_event *out, struct error *err)
{
	const char *event = NULL, *text = "";
	int64_t rows = 0, columns = 0;

	if (!json_is_object(doc))
		return error_set(
			err, ERR_INVALID,
			"an event for a terminal of the guest must be a JSON object: correct the program that sent it");
	if (!json_object_get(doc, "event") && json_object_get(doc, "op")) {
		out->kind = PTY_EVENT_ENVELOPE;
		return 0;
	}
	if (json_get_string(doc, "", "event", JSON_REQUIRED, &event, err) < 0)
		return -1;
	if (strcmp(event, "stdin") == 0) {
		out->kind = PTY_EVENT_STDIN;
		out->data.limit = FRAME_MAX;
		if (json_get_string(doc, "", "data", JSON_OPTIONAL, &text, err) < 0)
			return -1;
		if (base64_decode(text, strlen(text), &out->data, err) < 0)
			return error_prefix(err, "data");
		return 0;
	}
	if (strcmp(event, "resize") != 0)
		return error_set(
			err, ERR_INVALID,
			"the guest's agent does not know the event \"%.64s\" of a terminal: send \"stdin\" or \"resize\"",
			event);
	out->kind = PTY_EVENT_RESIZE;
	if (json_get_int(doc, "", "rows", JSON_OPTIONAL, 0, PTY_SIZE_MAX, &rows, err) < 0 ||
	    json_get_int(doc, "", "cols", JSON_OPTIONAL, 0, PTY_SIZE_MAX, &columns, err) < 0)
		return -1;
	out->rows = (uint16_t)rows;
	out->columns = (uint16_t)columns;
	return 0;
}

int pty_event_decode(const void *text, size_t len, struct pty_event *out, struct error *err)
{
	struct pty_event event = {0};
	json_auto_t *doc = json_load_strict(text, len, err);

	if (!doc)
		return -1;
	if (decode_pty_event(doc, &event, err) < 0) {
		pty_event_free(&event);
		return -1;
	}
	*out = event;
	return 0;
}

static struct writer begin_pty_event(const char *event, struct error *err)
{
	struct writer w = writer_begin(err);

	writer_text(&w, "event", event);
	return w;
}

char *pty_event_stdout(const void *bytes, size_t len, struct error *err)
{
	struct writer w = begin_pty_event("stdout", err);

	writer_base64(&w, "data", bytes, len);
	return writer_end(&w);
}

char *pty_event_end(const struct job_end *end, struct error *err)
{
	struct writer w = begin_pty_event(end->start_error[0] ? "error" : "exit", err);

	writer_number(&w, "code", end->exit_code);
	if (end->start_error[0])
		writer_text(&w, "msg", end->start_error);
	writer_if_true(&w, "timed_out", end->timed_out);
	return writer_end(&w);
}

char *pty_event_breach(const char *why, struct error *err)
{
	struct writer w = begin_pty_event("error", err);

	writer_text(&w, "msg", why);
	return writer_end(&w);
}
