/* SPDX-License-Identifier: MIT */
/*
 * The client's side of QMP. Each line of the protocol is one JSON object. The connection passes
 * through these phases:
 *
 *   GREETING  The client waits for {"QMP": ...}, and answers it with qmp_capabilities.
 *   NEGOTIATE The client waits for the answer to qmp_capabilities. Events may come already.
 *   READY     The client sends commands.
 *   CLOSED    The client reads and writes nothing any more, until qmp_free().
 *
 * A callback may free the connection. While a callback runs, `depth` is above zero, and qmp_free()
 * only marks the connection as freed.
 */
#include "backend/qemu/qmp.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

enum phase { PHASE_GREETING, PHASE_NEGOTIATE, PHASE_READY, PHASE_CLOSED };

#define PENDING_MAX 16
#define OUT_MAX 1048576
#define READ_BYTES 65536 /* the most bytes that one event of the loop reads */

struct pending {
	struct qmp *qmp;
	uint64_t id; /* the id of the command; 0: this entry is free */
	qmp_reply_fn *fn;
	void *data;
	struct loop_watch *timer;
};

struct qmp {
	struct loop *loop;
	struct loop_watch *watch, *greeting_timer;
	int fd;
	enum phase phase;
	struct buf in;
	size_t scanned;	 /* the number of bytes of `in` that were searched for a newline */
	struct buf out;	 /* bytes of commands that must still be sent */
	struct buf held; /* commands that were given before the phase READY */
	uint64_t next_id;
	struct pending pending[PENDING_MAX];
	struct qmp_events events;
	int depth;
	bool freed;
};

static void qmp_destroy(struct qmp *q)
{
	loop_remove(q->watch);
	loop_remove(q->greeting_timer);
	for (size_t i = 0; i < PENDING_MAX; i++)
		loop_remove(q->pending[i].timer);
	cleanup_close(&q->fd);
	buf_free(&q->in);
	buf_free(&q->out);
	buf_free(&q->held);
	free(q);
}

static void qmp_enter(struct qmp *q)
{
	q->depth++;
}

static void qmp_leave(struct qmp *q)
{
	if (--q->depth == 0 && q->freed)
		qmp_destroy(q);
}

void qmp_free(struct qmp *q)
{
	if (!q)
		return;
	q->freed = true;
	q->phase = PHASE_CLOSED;
	if (q->depth == 0)
		qmp_destroy(q);
}

/* Gives a command its answer. The entry becomes free before the command's function is called,
 * because that function may send another command. */
static void answer_pending(struct pending *p, const json_t *result, const struct error *why)
{
	qmp_reply_fn *fn = p->fn;
	void *data = p->data;

	loop_remove(p->timer);
	*p = (struct pending){.qmp = p->qmp};
	if (fn && !p->qmp->freed)
		fn(data, result, why);
}

/* Ends the connection. First gives an error to each command without an answer, and then calls
 * events.closed(). */
static void qmp_shut(struct qmp *q, const struct error *why)
{
	struct error gone = {.code = ERR_IO};

	if (q->phase == PHASE_CLOSED)
		return;
	q->phase = PHASE_CLOSED;
	loop_remove(steal_ptr(&q->watch));
	loop_remove(steal_ptr(&q->greeting_timer));
	error_set(
		&gone, ERR_IO,
		"QEMU has closed its monitor, so it takes no more commands: its messages are in supervisor.log in the workspace");
	for (size_t i = 0; i < PENDING_MAX; i++)
		if (q->pending[i].id)
			answer_pending(&q->pending[i], NULL, why ? why : &gone);
	if (!q->freed && q->events.closed)
		q->events.closed(q->events.data, why);
}

static void shut_with(struct qmp *q, struct error *why)
{
	error_prefix(why, "QEMU's monitor");
	qmp_shut(q, why);
}

/* --- sending --------------------------------------------------------------------------------- */

static int qmp_flush(struct qmp *q, struct error *err)
{
	while (q->out.len) {
		ssize_t n = send(q->fd, buf_bytes(&q->out), q->out.len, MSG_NOSIGNAL);
		if (n >= 0)
			buf_consume(&q->out, (size_t)n);
		else if (errno == EAGAIN)
			break;
		else if (errno != EINTR)
			return error_errno(err, errno, "send");
	}
	return loop_set_events(q->watch, q->out.len ? LOOP_IN | LOOP_OUT : LOOP_IN, err);
}

static void on_qmp_deadline(struct loop *loop, void *data)
{
	struct pending *p = data;
	struct qmp *q = p->qmp;
	struct error why;

	(void)loop;
	p->timer = NULL; /* The timer has fired, so the loop has removed it. */
	error_set(
		&why, ERR_TIMEOUT,
		"QEMU has not answered a monitor command for %llu ms: this host is overloaded, or QEMU hangs",
		(unsigned long long)limit_get(LIMIT_QMP_MS));
	qmp_enter(q);
	answer_pending(p, NULL, &why);
	qmp_leave(q);
}

/* Puts one command into the queue, and uses an entry of `pending` for its answer. */
static int enqueue(struct qmp *q, struct buf *queue, const char *command, json_t *arguments,
		   qmp_reply_fn *reply, void *data, struct error *err)
{
	struct pending *p = q->pending;

	while (p < q->pending + PENDING_MAX && p->id)
		p++;
	if (p == q->pending + PENDING_MAX)
		return error_set(
			err, ERR_UNAVAILABLE,
			"QEMU takes no more commands, because too many commands wait for its answer: try again in a few seconds");
	json_auto_t *doc =
		json_pack("{s:s, s:I}", "execute", command, "id", (json_int_t)q->next_id);
	if (!doc || (arguments && json_object_set(doc, "arguments", arguments) < 0))
		return error_errno(err, ENOMEM, "monitor command");
	autofree char *text = json_line(doc, err);
	if (!text)
		return -1;
	struct loop_watch *timer =
		loop_add_timer(q->loop, limit_deadline(LIMIT_QMP_MS), on_qmp_deadline, p, err);
	if (!timer)
		return -1;
	if (buf_printf(queue, err, "%s\n", text) < 0) {
		loop_remove(timer);
		return -1;
	}
	*p = (struct pending){
		.qmp = q, .id = q->next_id++, .fn = reply, .data = data, .timer = timer};
	return 0;
}

int qmp_send(struct qmp *q, const char *command, json_t *arguments, qmp_reply_fn *reply, void *data,
	     struct error *err)
{
	json_auto_t *owned = arguments;

	if (q->phase == PHASE_CLOSED)
		return error_set(
			err, ERR_UNAVAILABLE,
			"QEMU has closed its monitor, so it takes no more commands: its messages are in supervisor.log in the workspace");
	if (q->phase != PHASE_READY)
		return enqueue(q, &q->held, command, owned, reply, data, err);
	if (enqueue(q, &q->out, command, owned, reply, data, err) < 0)
		return -1;
	/* If the connection breaks here, the loop will notice that, and the command will get an
	 * error. */
	qmp_flush(q, NULL);
	return 0;
}

int qmp_send_fd(struct qmp *q, const char *command, json_t *arguments, int fd, qmp_reply_fn *reply,
		void *data, struct error *err)
{
	json_auto_t *owned = arguments;
	uint64_t id = q->next_id;

	if (q->phase == PHASE_READY)
		qmp_flush(q, NULL);
	if (q->phase != PHASE_READY || q->out.len > 0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"QEMU's monitor cannot take a file now, because it is not ready, or is busy: try again in a few seconds");
	if (enqueue(q, &q->out, command, owned, reply, data, err) < 0)
		return -1;
	/* The descriptor must be sent with the first byte of this command. `out` has no bytes of an
	 * earlier command, so the first byte of `out` is that byte. */
	ssize_t n = fd_send_passing(q->fd, buf_bytes(&q->out), q->out.len, &fd, 1, MSG_DONTWAIT);
	if (n < 0) {
		error_errno(err, errno, "QEMU's monitor did not accept a descriptor");
		buf_consume(&q->out, q->out.len);
		for (size_t i = 0; i < PENDING_MAX; i++) {
			if (q->pending[i].id != id)
				continue;
			loop_remove(q->pending[i].timer);
			q->pending[i] = (struct pending){.qmp = q};
		}
		return -1;
	}
	buf_consume(&q->out, (size_t)n);
	qmp_flush(q, NULL);
	return 0;
}

/* --- receiving ------------------------------------------------------------------------------- */

static void on_capabilities(void *data, const json_t *result, const struct error *why)
{
	struct qmp *q = data;
	struct error broken;

	(void)result;
	if (q->phase != PHASE_NEGOTIATE)
		return;
	if (why) {
		qmp_shut(q, why);
		return;
	}
	q->phase = PHASE_READY;
	if (q->held.len && (buf_append(&q->out, buf_bytes(&q->held), q->held.len, &broken) < 0 ||
			    qmp_flush(q, &broken) < 0)) {
		shut_with(q, &broken);
		return;
	}
	buf_free(&q->held);
	if (q->events.ready)
		q->events.ready(q->events.data);
}

/* Takes an answer. If no command waits for this answer, the answer came after the command's
 * deadline, and is dropped. */
static int qmp_take_answer(struct qmp *q, const json_t *doc, struct error *err)
{
	const json_t *id = json_object_get(doc, "id");
	const json_t *result = json_object_get(doc, "return");
	const json_t *failure = json_object_get(doc, "error");
	struct error why;

	if (!result && !json_is_object(failure))
		return error_set(
			err, ERR_IO,
			"a message of QEMU is neither an event nor an answer: this is a bug, or QEMU was taken over");
	if (!json_is_integer(id) || json_integer_value(id) <= 0)
		return result ? 0
			      : error_set(
					err, ERR_IO,
					"an error that QEMU reports does not say which command failed: this is a bug, or QEMU was taken over");
	if (!result) {
		const char *text = json_text(failure, "desc", NULL);
		error_set(&why, ERR_IO, "QEMU: %.400s",
			  text ? text : "the error has no description");
	}
	for (size_t i = 0; i < PENDING_MAX; i++) {
		if (q->pending[i].id == (uint64_t)json_integer_value(id)) {
			answer_pending(&q->pending[i], result, result ? NULL : &why);
			break;
		}
	}
	return 0;
}

static int qmp_take_line(struct qmp *q, const uint8_t *line, size_t len, struct error *err)
{
	json_auto_t *doc = json_load_strict(line, len, err);

	if (!doc)
		return -1;
	if (!json_is_object(doc))
		return error_set(
			err, ERR_IO,
			"a message of QEMU is not a JSON object: this is a bug, or QEMU was taken over");
	if (q->phase == PHASE_GREETING) {
		if (!json_is_object(json_object_get(doc, "QMP")))
			return error_set(
				err, ERR_IO,
				"the first message of QEMU is not its greeting: this is a bug, or QEMU was taken over");
		loop_remove(steal_ptr(&q->greeting_timer));
		q->phase = PHASE_NEGOTIATE;
		if (enqueue(q, &q->out, "qmp_capabilities", NULL, on_capabilities, q, err) < 0)
			return -1;
		return qmp_flush(q, err);
	}
	const json_t *event = json_object_get(doc, "event");
	if (!event)
		return qmp_take_answer(q, doc, err);
	const json_t *body = json_object_get(doc, "data");
	if (!json_is_string(event) || (body && !json_is_object(body)))
		return error_set(
			err, ERR_IO,
			"an event of QEMU is malformed: this is a bug, or QEMU was taken over");
	if (q->events.event)
		q->events.event(q->events.data, json_string_value(event), body);
	return 0;
}

/* Takes every complete line from the buffer. Searches each byte only once for a newline. */
static int qmp_take_lines(struct qmp *q, struct error *err)
{
	while (q->phase != PHASE_CLOSED) {
		const uint8_t *bytes = buf_bytes(&q->in);
		const uint8_t *end = memchr(bytes + q->scanned, '\n', q->in.len - q->scanned);
		if (!end) {
			q->scanned = q->in.len;
			return 0;
		}
		size_t len = (size_t)(end - bytes);
		if (qmp_take_line(q, bytes, len, err) < 0)
			return -1;
		buf_consume(&q->in, len + 1);
		q->scanned = 0;
	}
	return 0;
}

/* Reads the socket once, and takes the complete lines. Returns 1 if bytes came. Returns 0 if there
 * are no bytes now, or if the connection has ended. */
static int qmp_receive(struct qmp *q)
{
	struct error why;
	uint8_t *room = buf_reserve(&q->in, READ_BYTES, NULL);
	size_t size = READ_BYTES;

	if (!room) { /* the buffer is near its limit, so only the remaining bytes up to the limit
		      * are reserved */
		size = q->in.limit - q->in.len;
		room = size ? buf_reserve(&q->in, size, NULL) : NULL;
	}
	if (!room) {
		error_set(
			&why, ERR_IO,
			"a message of QEMU is longer than %zu bytes: this is a bug, or QEMU was taken over",
			q->in.limit);
		shut_with(q, &why);
		return 0;
	}
	ssize_t n = recv(q->fd, room, size, MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0) { /* a reset of the connection is handled like a normal end */
		qmp_shut(q, NULL);
		return 0;
	}
	buf_commit(&q->in, (size_t)n);
	if (qmp_take_lines(q, &why) < 0)
		shut_with(q, &why);
	return q->phase != PHASE_CLOSED;
}

static void on_socket(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct qmp *q = data;
	struct error why;

	(void)loop, (void)fd;
	qmp_enter(q);
	if (events & LOOP_OUT && qmp_flush(q, &why) < 0)
		shut_with(q, &why);
	if (q->phase != PHASE_CLOSED && events & ~(uint32_t)LOOP_OUT)
		qmp_receive(q);
	qmp_leave(q);
}

static void on_no_greeting(struct loop *loop, void *data)
{
	struct qmp *q = data;
	struct error why;

	(void)loop;
	q->greeting_timer = NULL;
	error_set(
		&why, ERR_TIMEOUT,
		"QEMU has not sent its greeting within %llu ms: this host is overloaded, or QEMU hangs",
		(unsigned long long)limit_get(LIMIT_QMP_GREETING_MS));
	qmp_enter(q);
	shut_with(q, &why);
	qmp_leave(q);
}

void qmp_drain(struct qmp *q)
{
	/* QEMU has ended, so only bytes that are already in the socket can come. The number of
	 * reads is still limited. */
	qmp_enter(q);
	for (int i = 0; i < 64 && q->phase != PHASE_CLOSED && qmp_receive(q); i++)
		;
	qmp_leave(q);
}

struct qmp *qmp_new(struct loop *loop, int fd, const struct qmp_events *events, struct error *err)
{
	struct qmp *q = calloc(1, sizeof(*q));

	if (!q) {
		close(fd);
		error_errno(err, ENOMEM, "monitor");
		return NULL;
	}
	*q = (struct qmp){.loop = loop, .fd = fd, .next_id = 1, .events = *events};
	q->in.limit = limit_get(LIMIT_QMP_LINE_BYTES);
	q->out.limit = q->held.limit = OUT_MAX;
	for (size_t i = 0; i < PENDING_MAX; i++)
		q->pending[i].qmp = q;
	if (fd_nonblock(fd, true, err) == 0 &&
	    (q->watch = loop_add_fd(loop, fd, LOOP_IN, on_socket, q, err)) &&
	    (q->greeting_timer = loop_add_timer(loop, limit_deadline(LIMIT_QMP_GREETING_MS),
						on_no_greeting, q, err)))
		return q;
	qmp_destroy(q);
	return NULL;
}
