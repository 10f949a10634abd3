/* SPDX-License-Identifier: MIT */
/* Handles frames. A frame is a request, an event, or stdin for a command in streaming mode. */
#include <signal.h>
#include <string.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest-macos/mac_agent.h"

#define SIGNAL_MAX 31 /* the highest signal number of macOS */

static size_t count_jobs(const struct mac_conn *conn)
{
	size_t count = 0;

	for (const struct mac_job *job = conn->jobs; job; job = job->next)
		count++;
	return count;
}

static void on_request(struct mac_conn *conn, json_t *doc)
{
	struct mac_request request = {0};
	struct error err = {0};

	if (mac_request_frame(doc, &request, &err) < 0) {
		mac_conn_refuse(conn, 0, err.msg);
		return;
	}
	if (request.answer == MAC_STREAMED)
		conn->streaming = true;
	else
		conn->asked = true;
	if (request.number && mac_job_find(conn, request.number))
		mac_conn_refuse(conn, request.number, "this request number is in use");
	else if (count_jobs(conn) >= limit_get(LIMIT_AGENT_REQUESTS))
		mac_conn_refuse(conn, request.number, "too many requests at once");
	else
		mac_job_start(conn, &request);
	mac_request_free(&request);
}

static void event_signal(struct mac_job *job, json_t *doc)
{
	int64_t number = 0;
	struct error err = {0};

	if (json_get_int(doc, "", "signal", JSON_REQUIRED, 1, SIGNAL_MAX, &number, &err) < 0)
		mac_conn_refuse(job->conn, job->number, err.msg);
	else if (job->pid > 0 && !job->exited)
		kill(-job->pid, (int)number);
}

static void event_stdin_close(struct mac_job *job, json_t *doc)
{
	(void)doc;
	job->stdin_closing = true;
	mac_job_input(job);
}

static void event_cancel(struct mac_job *job, json_t *doc)
{
	(void)doc;
	mac_job_kill(job);
}

/* Ignores a new size of the terminal, since no command of this agent has a terminal. */
static void event_resize(struct mac_job *job, json_t *doc)
{
	(void)job;
	(void)doc;
}

static const struct mac_event {
	const char *name;
	void (*take)(struct mac_job *job, json_t *doc);
} stream_events[] = {
	{"signal", event_signal},
	{"stdin-close", event_stdin_close},
	{"cancel", event_cancel},
	{"resize", event_resize},
	/* These events are for resumable execs. This agent does not support them, so it ignores the
	 * events. */
	{"ack", NULL},
	{"release", NULL},
};

/* Handles an event. Ignores an event for a request that has ended, since the client may have sent
 * the event before it got the exit message. */
static void on_event(struct mac_conn *conn, json_t *doc, const char *name)
{
	struct error err = {0};
	int64_t number = 0;

	if (json_get_int(doc, "", "request", JSON_REQUIRED, 1, INT64_MAX, &number, &err) < 0) {
		mac_conn_refuse(conn, 0, err.msg);
		return;
	}
	conn->streaming = true;
	if (strcmp(name, "attach") == 0) {
		mac_conn_say(conn, mac_answer_detached((uint64_t)number, "not-found",
						       "the agent of macOS guests keeps no exec"));
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(stream_events); i++) {
		struct mac_job *job = mac_job_find(conn, (uint64_t)number);

		if (strcmp(name, stream_events[i].name) != 0)
			continue;
		if (job && stream_events[i].take)
			stream_events[i].take(job, doc);
		return;
	}
	mac_conn_refuse(conn, (uint64_t)number, "unknown event");
}

static void on_message(struct mac_conn *conn, const uint8_t *payload, size_t len)
{
	struct error err = {0};
	json_auto_t *doc = json_load_strict(payload, len, &err);
	const char *event = NULL;

	if (!doc || json_get_string(doc, "", "event", JSON_OPTIONAL, &event, &err) < 0)
		mac_conn_refuse(conn, 0, err.msg);
	else if (event)
		on_event(conn, doc, event);
	else
		on_request(conn, doc);
}

static void mac_on_stdin(struct mac_conn *conn, const uint8_t *payload, size_t len)
{
	struct mac_job *job = mac_job_find(conn, be64_get(payload + 1));
	const uint8_t *bytes = payload + AGENT_DATA_HEADER;
	size_t count = len - AGENT_DATA_HEADER;

	if (!job || job->stdin_closing)
		return;
	if (job->window && job->stdin_bytes.len + (job->taken - job->told) + count >
				   limit_get(LIMIT_STDIN_WINDOW_BYTES)) {
		mac_conn_refuse(conn, job->number, "more stdin than the window allows");
		return;
	}
	if (buf_append(&job->stdin_bytes, bytes, count, NULL) < 0)
		conn->broken = true;
	else
		mac_job_input(job);
}

void mac_stream_frame(struct mac_conn *conn, const uint8_t *payload, size_t len)
{
	if (payload[0] == '{')
		on_message(conn, payload, len);
	else if (payload[0] == AGENT_FRAME_STDIN && len >= AGENT_DATA_HEADER)
		mac_on_stdin(conn, payload, len);
	else
		mac_conn_refuse(conn, 0, "a frame is neither JSON nor stdin");
}
