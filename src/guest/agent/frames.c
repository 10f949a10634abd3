/* SPDX-License-Identifier: MIT */
#include "guest/agent/frames.h"

#include <string.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/frame.h"
#include "guest/agent/call_capture.h"
#include "guest/agent/call_stream.h"
#include "guest/agent/handed.h"
#include "guest/agent/resumable.h"
#include "guest/agent/workload.h"

/* The frame that the agent is handling. */
struct turn {
	struct conn *conn;
	uint64_t number; /* the number of the frame's request; 0: the number is not known */
};

static struct call *find_call(const struct conn *conn, uint64_t number)
{
	struct call *call;

	list_each (call, &conn->calls, link)
		if (call->number == number)
			return call;
	return NULL;
}

/* --- requests -------------------------------------------------------------------------------- */

/* Hands a stream of the mux over to the command. A stream is not a file descriptor, so the command
 * gets one end of a socket pair. The agent copies bytes between the stream and the other end of the
 * pair. */
static int hand_stream_over(struct conn *conn, const struct request *request, struct error *err)
{
	int ends[2];

	if (fd_socketpair(ends, err) < 0)
		return -1;
	autoclose int ours = ends[0];
	autoclose int theirs = ends[1];
	if (exec_hand_over(conn->all->context, request, theirs, err) < 0)
		return -1;
	handed_join(conn->all->loop, framed_release(&conn->wire), steal_fd(&ours), NULL, NULL);
	conn_end(conn);
	return 0;
}

/* Hands the whole connection over to the command. After that, the agent does not use the
 * connection, and sends no message to the client. */
static int hand_connection_over(struct conn *conn, const struct request *request, struct error *err)
{
	int fd = conn->wire.fd;

	if (request->problem[0])
		return error_set(err, ERR_INVALID, "%s", request->problem);
	if (conn->ncalls > 0 || conn->wire.out.len > 0)
		return error_set(
			err, ERR_CONFLICT,
			"the connection cannot be handed over, because other requests on it have not ended: open another connection for this request");
	if (conn->wire.stream)
		return hand_stream_over(conn, request, err);
	/* The command needs a blocking socket. The command's file descriptor and the agent's share
	 * one open socket, so the agent makes its own file descriptor blocking. */
	if (fd_nonblock(fd, false, err) < 0)
		return -1;
	if (exec_hand_over(conn->all->context, request, fd, err) < 0) {
		fd_nonblock(fd, true, NULL);
		return -1;
	}
	conn_end(conn);
	return 0;
}

static int begin_request(struct conn *conn, struct request *request, struct error *err)
{
	conn_asked(conn);
	if (request->number && find_call(conn, request->number))
		return error_set(
			err, ERR_CONFLICT,
			"request %llu is already running on this connection: give each request on a connection another number",
			(unsigned long long)request->number);
	if (conn->ncalls >= limit_get(LIMIT_AGENT_REQUESTS))
		return error_set(
			err, ERR_INVALID,
			"there are more than %llu requests on one connection: wait until some have ended, or make another connection",
			(unsigned long long)limit_get(LIMIT_AGENT_REQUESTS));
	if (request->kind == REQUEST_ATTACH || request->stream)
		conn->streaming = true;
	if (request->kind == REQUEST_ATTACH && strcmp(request->exec, EXEC_WORKLOAD) == 0)
		return workload_attach(conn->all->workload, conn, request, err);
	if (request->kind == REQUEST_ATTACH)
		return resumable_attach(conn->all->resumables, conn, request, err);
	if (request->hand_over)
		return hand_connection_over(conn, request, err);
	if (!request->stream)
		return capture_frame(conn, request, err);
	return request->grace_ms > 0 ? resumable_start(conn->all->resumables, conn, request, err)
				     : call_stream(conn, request, err);
}

static int take_json_frame(struct turn *turn, const uint8_t *payload, size_t len, struct error *err)
{
	struct request request = {0};
	int got = request_decode_frame(payload, len, &request, err);

	if (got < 0)
		return -1;
	turn->number = request.number;
	if (request.kind == REQUEST_EXEC || request.kind == REQUEST_ATTACH) {
		got = begin_request(turn->conn, &request, err);
	} else {
		/* An event for a request that has ended is not an error. The client may have sent
		 * the event before it got the exit message. */
		struct call *call = find_call(turn->conn, request.number);

		got = call ? call->kind->event(call, &request, err) : 0;
	}
	request_free(&request);
	return got < 0 ? -1 : 1;
}

/* --- frames ---------------------------------------------------------------------------------- */

static int take_frame(void *data, const uint8_t *payload, size_t len, struct error *err)
{
	struct turn *turn = data;
	struct call *call;

	turn->number = 0;
	if (payload[0] == '{')
		return take_json_frame(turn, payload, len, err);
	if (payload[0] != AGENT_FRAME_STDIN || len < AGENT_DATA_HEADER)
		return error_set(
			err, ERR_INVALID,
			"a frame to the guest's agent is neither JSON nor stdin: its first byte must be '{' for JSON or %d for stdin, and a frame of stdin has a header of %d bytes",
			AGENT_FRAME_STDIN, AGENT_DATA_HEADER);
	call = find_call(turn->conn, be64_get(payload + 1));
	if (call)
		return call_take_stdin(call, payload + AGENT_DATA_HEADER, len - AGENT_DATA_HEADER,
				       err);
	turn->conn->stdin_taken = 0; /* the bytes were for a call that has ended */
	return 1;
}

static bool take_frames(struct conn *conn)
{
	struct turn turn = {.conn = conn};
	struct error err = {0};

	if (!conn->waiting && framed_take(&conn->wire, take_frame, &turn, &err) < 0)
		conn_refuse(conn, answer_error(turn.number, err.msg, NULL));
	return false;
}

const struct conn_form frames_form = {
	.most = LIMIT_FRAME_BYTES,
	.send = framed_send,
	.step = take_frames,
};
