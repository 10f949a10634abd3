/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/limits.h"
#include "guest-macos/mac_agent.h"

#define READ_CHUNK ((size_t)65536)

struct mac_conn *mac_conn_new(struct mac_agent *agent, int fd)
{
	struct mac_conn *conn = calloc(1, sizeof(*conn));

	if (conn)
		*conn = (struct mac_conn){.agent = agent, .fd = fd, .idle_ns = clock_mono_ns()};
	return conn;
}

void mac_conn_free(struct mac_conn *conn)
{
	while (conn->jobs) {
		struct mac_job *job = conn->jobs;

		conn->jobs = job->next;
		mac_job_free(job);
	}
	close(conn->fd);
	buf_free(&conn->in);
	buf_free(&conn->out);
	free(conn);
}

/* --- what is said ---------------------------------------------------------------------------- */

void mac_conn_say(struct mac_conn *conn, json_t *message)
{
	json_auto_t *owned = message;
	autofree char *text = owned ? json_line(owned, NULL) : NULL;
	int result = -1;

	if (text && conn->form == MAC_FORM_FRAME)
		result = frame_append(&conn->out, text, strlen(text), NULL);
	else if (text)
		result = buf_printf(&conn->out, NULL, "%s\n", text);
	if (result < 0)
		conn->broken = true;
	conn->idle_ns = clock_mono_ns();
}

void mac_conn_refuse(struct mac_conn *conn, uint64_t number, const char *why)
{
	if (conn->form == MAC_FORM_FRAME) {
		mac_conn_say(conn, mac_answer_error(number, why));
	} else {
		char text[400];

		snprintf(text, sizeof(text), "decode envelope: %.350s", why);
		mac_conn_say(conn, json_pack("{s:s}", "error", text));
	}
	conn->closing = true;
	for (struct mac_job *job = conn->jobs; job; job = job->next)
		mac_job_kill(job);
}

void mac_conn_write(struct mac_conn *conn)
{
	while (conn->out.len > 0) {
		ssize_t n = send(conn->fd, buf_bytes(&conn->out), conn->out.len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			conn->broken = true;
			return;
		}
		buf_consume(&conn->out, (size_t)n);
		conn->idle_ns = clock_mono_ns();
	}
}

/* --- what comes in --------------------------------------------------------------------------- */

static bool has_much_stdin(const struct mac_conn *conn)
{
	for (const struct mac_job *job = conn->jobs; job; job = job->next)
		if (!job->window && job->answer == MAC_STREAMED &&
		    job->stdin_bytes.len >= limit_get(LIMIT_STDIN_WINDOW_BYTES))
			return true;
	return false;
}

bool mac_conn_wants_input(const struct mac_conn *conn)
{
	bool busy = conn->form == MAC_FORM_ENVELOPE && conn->jobs;

	return !conn->in_ended && !conn->closing && !has_much_stdin(conn) &&
	       !(busy && conn->in.len >= READ_CHUNK);
}

/* Handles the end of the client's input. In streaming mode this means that the client has gone,
 * since it needs the connection to send further events. */
static void on_input_end(struct mac_conn *conn)
{
	conn->in_ended = true;
	if (conn->streaming || (send(conn->fd, "", 0, 0) < 0 && errno == EPIPE))
		conn->broken = true;
}

void mac_conn_read(struct mac_conn *conn)
{
	uint8_t *room = buf_reserve(&conn->in, READ_CHUNK, NULL);
	ssize_t n = room ? recv(conn->fd, room, READ_CHUNK, 0) : -1;

	if (n > 0)
		buf_commit(&conn->in, (size_t)n);
	else if (n == 0)
		on_input_end(conn);
	else if (!room || (errno != EAGAIN && errno != EINTR))
		conn->broken = true;
}

static bool is_white(uint8_t byte)
{
	return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}

static void mac_choose_form(struct mac_conn *conn)
{
	uint8_t first;

	if (conn->form != MAC_FORM_NONE || conn->in.len == 0)
		return;
	first = *buf_bytes(&conn->in);
	conn->form = first == '{' || is_white(first) ? MAC_FORM_ENVELOPE : MAC_FORM_FRAME;
}

/* Handles one frame of the input. Returns true if the input may have another complete frame. */
static bool mac_take_frame(struct mac_conn *conn)
{
	const uint8_t *payload;
	struct error err = {0};
	size_t len = 0;
	int found = frame_peek(&conn->in, FRAME_MAX, &payload, &len, &err);

	if (found < 0)
		mac_conn_refuse(conn, 0, err.msg);
	if (found <= 0)
		return false;
	mac_stream_frame(conn, payload, len);
	buf_consume(&conn->in, FRAME_HEADER + len);
	return true;
}

static bool is_blank(const uint8_t *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_white(bytes[i]))
			return false;
	return true;
}

static void on_envelope(struct mac_conn *conn, const uint8_t *text, size_t len)
{
	struct mac_request request = {0};
	json_t *refusal = NULL;
	struct error err = {0};
	int known = mac_request_envelope(text, len, &request, &refusal, &err);

	if (known > 0)
		mac_job_start(conn, &request);
	else if (known == 0)
		mac_conn_say(conn, refusal);
	else
		mac_conn_refuse(conn, 0, err.msg);
	if (known > 0)
		mac_request_free(&request);
}

/* Handles one envelope of the input, unless the command of the previous envelope still runs.
 * Returns true if the input may have another complete envelope. */
static bool mac_take_envelope(struct mac_conn *conn)
{
	size_t len = mac_envelope_length(buf_bytes(&conn->in), conn->in.len);

	if (conn->jobs)
		return false;
	if (len == 0 && conn->in.len > limit_get(LIMIT_ENVELOPE_BYTES))
		mac_conn_refuse(conn, 0, "it is too long");
	if (len == 0 && conn->in_ended && !is_blank(buf_bytes(&conn->in), conn->in.len))
		mac_conn_refuse(conn, 0, "it ends in the middle");
	if (len == 0)
		return false;
	on_envelope(conn, buf_bytes(&conn->in), len);
	buf_consume(&conn->in, len);
	return true;
}

void mac_conn_go_on(struct mac_conn *conn)
{
	bool more = true;

	mac_choose_form(conn);
	while (more && !conn->closing && !conn->broken && conn->form != MAC_FORM_NONE) {
		more = conn->form == MAC_FORM_FRAME ? mac_take_frame(conn)
						    : mac_take_envelope(conn);
		if (more)
			conn->idle_ns = clock_mono_ns();
	}
}

/* Returns true if the connection must be closed. A connection with buffered requests is closed when
 * all of them are answered. A connection in streaming mode is closed by the client. A connection
 * without a request is closed when it was idle for too long. */
bool mac_conn_is_over(const struct mac_conn *conn)
{
	if (conn->broken)
		return true;
	if (conn->out.len > 0)
		return false;
	if (conn->closing)
		return true;
	if (conn->jobs)
		return false;
	if (conn->in_ended)
		return true;
	if (conn->asked && !conn->streaming && conn->in.len == 0)
		return true;
	return !conn->streaming &&
	       clock_mono_ns() >= conn->idle_ns + limit_get(LIMIT_AGENT_IDLE_MS) * NS_PER_MS;
}
