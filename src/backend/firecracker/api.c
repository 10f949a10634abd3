/* SPDX-License-Identifier: MIT */
#include "backend/firecracker/api.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/firecracker/http.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"

#define CALLS_MAX 64
#define CALL_NAME 96
#define READ_BYTES 16384

struct call {
	char name[CALL_NAME]; /* the method and the path of the call, for example "PUT /vsock" */
	char *text;	      /* the whole HTTP request */
	api_answer_fn *fn;
	void *data;
};

struct api {
	struct loop *loop;
	struct loop_watch *watch, *timer;
	enum limit deadline;
	int fd;
	struct api_events events;
	/* A ring of calls. The first call was sent, or is being sent, and waits for its answer. */
	struct call calls[CALLS_MAX];
	size_t first, count;
	size_t sent; /* the number of bytes of the first call that were sent */
	struct buf in;
	/* Above 0 while a callback may run; api_free() then only marks the connection as freed. */
	int depth;
	bool closed, freed;
};

static void api_destroy(struct api *a)
{
	loop_remove(a->watch);
	loop_remove(a->timer);
	for (size_t i = 0; i < a->count; i++)
		free(a->calls[(a->first + i) % CALLS_MAX].text);
	cleanup_close(&a->fd);
	buf_free(&a->in);
	free(a);
}

void api_free(struct api *a)
{
	if (!a)
		return;
	a->freed = true;
	if (a->depth == 0)
		api_destroy(a);
}

bool api_is_closed(const struct api *a)
{
	return a->closed;
}

void api_set_deadline(struct api *a, enum limit limit)
{
	a->deadline = limit;
}

static void api_enter(struct api *a)
{
	a->depth++;
}

static void api_leave(struct api *a)
{
	if (--a->depth == 0 && a->freed)
		api_destroy(a);
}

/* Removes the first call from the ring, and gives the answer to its function. That function may
 * make a new call. */
static void answer_call(struct api *a, const json_t *body, const struct error *why)
{
	struct call call = a->calls[a->first];

	loop_remove(steal_ptr(&a->timer));
	a->calls[a->first] = (struct call){0};
	a->first = (a->first + 1) % CALLS_MAX;
	a->count--;
	a->sent = 0;
	free(call.text);
	if (call.fn && !a->freed)
		call.fn(call.data, body, why);
}

static void tell_silence(const struct api *a, struct error *why)
{
	if (a->count)
		error_set(
			why, ERR_IO,
			"Firecracker closed its API without an answer to %s: its messages are in supervisor.log in the workspace",
			a->calls[a->first].name);
	else
		error_set(
			why, ERR_IO,
			"Firecracker closed its API: its messages are in supervisor.log in the workspace");
}

/* Closes the connection, and gives an error to each call without an answer. `why` is NULL if
 * Firecracker has closed the connection. */
static void shut_api(struct api *a, const struct error *why)
{
	struct error first = {0}, each = {0};

	if (a->closed)
		return;
	a->closed = true;
	loop_remove(steal_ptr(&a->watch));
	loop_remove(steal_ptr(&a->timer));
	tell_silence(a, &first);
	while (a->count && !a->freed) {
		tell_silence(a, &each);
		answer_call(a, NULL, why ? why : &each);
	}
	if (!a->freed && a->events.closed)
		a->events.closed(a->events.data, why ? why : &first, !why);
}

/* Closes the connection because of an error. If a call has no answer, the error begins with the
 * name of the first such call. */
static void break_api(struct api *a, struct error *why)
{
	if (a->count)
		error_prefix(why, "Firecracker's API: %s", a->calls[a->first].name);
	else
		error_prefix(why, "Firecracker's API");
	shut_api(a, why);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void on_api_deadline(struct loop *loop, void *data)
{
	struct api *a = data;
	struct error why = {0};

	(void)loop;
	a->timer = NULL;
	error_set(&why, ERR_TIMEOUT,
		  "no answer within %llu ms: this host is overloaded, or Firecracker hangs",
		  (unsigned long long)limit_get(a->deadline));
	api_enter(a);
	break_api(a, &why);
	api_leave(a);
}

/* Sends as many bytes of the first call as the socket takes. */
static int send_call(struct api *a, struct error *err)
{
	const char *text = a->count ? a->calls[a->first].text : "";
	size_t len = strlen(text);

	while (a->sent < len) {
		ssize_t n = send(a->fd, text + a->sent, len - a->sent, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN)
			return error_set(err, ERR_IO, "the call cannot be sent to Firecracker: %s",
					 strerror(errno));
		if (n < 0)
			break;
		a->sent += (size_t)n;
	}
	return loop_set_events(a->watch, a->sent < len ? LOOP_IN | LOOP_OUT : LOOP_IN, err);
}

static void begin_call(struct api *a)
{
	struct error why = {0};

	/* If there is a timer, the first call of the ring is being sent already. The answer
	 * function of an earlier call may have begun to send that call. */
	if (a->count == 0 || a->closed || a->freed || a->timer)
		return;
	a->timer = loop_add_timer(a->loop, limit_deadline(a->deadline), on_api_deadline, a, &why);
	if (!a->timer || send_call(a, &why) < 0)
		break_api(a, &why);
}

int api_call(struct api *a, const char *method, const char *path, json_t *body, api_answer_fn *fn,
	     void *data, struct error *err)
{
	json_auto_t *owned = body;
	struct call call = {.fn = fn, .data = data};

	if (a->closed || a->freed)
		return error_set(
			err, ERR_IO,
			"Firecracker takes no more calls, because its API is closed: the machine is ending, so wait for its end");
	if (a->count == CALLS_MAX)
		return error_set(
			err, ERR_CONFLICT,
			"Firecracker takes no more calls, because too many calls wait for its answer: try again in a few seconds");
	snprintf(call.name, sizeof(call.name), "%.8s %.80s", method, path);
	autofree char *json = owned ? json_line(owned, err) : NULL;
	if (owned && !json)
		return -1;
	if (asprintf(&call.text,
		     "%s %s HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\n"
		     "Content-Type: application/json\r\nContent-Length: %zu\r\n\r\n%s",
		     method, path, json ? strlen(json) : 0, json ? json : "") < 0)
		return error_errno(err, ENOMEM, "%s %s", method, path);
	a->calls[(a->first + a->count++) % CALLS_MAX] = call;
	if (a->count == 1) {
		api_enter(a);
		begin_call(a);
		api_leave(a);
	}
	return 0;
}

/* --- receiving -------------------------------------------------------------------------------- */

/* Takes one answer from the buffer. Returns 1 if a call was answered, 0 if more bytes are needed,
 * or -1 with an error. */
static int take_answer(struct api *a, struct error *err)
{
	json_auto_t *body = NULL;
	struct http_response r;
	struct error why = {0};
	int whole;

	if (a->in.len == 0)
		return 0;
	if (a->count == 0)
		return error_set(
			err, ERR_IO,
			"Firecracker sent data although no call waits for an answer: this is a bug, or Firecracker was taken over");
	whole = http_take(buf_bytes(&a->in), a->in.len, limit_get(LIMIT_API_BODY_BYTES), &r, err);
	if (whole <= 0)
		return whole;
	if (a->sent < strlen(a->calls[a->first].text))
		return error_set(
			err, ERR_IO,
			"Firecracker answered a call before the call was sent: this is a bug, or Firecracker was taken over");
	if (r.body_len > 0) {
		body = json_load_strict((const uint8_t *)r.body, r.body_len, err);
		if (!body)
			return error_prefix(err, "Firecracker's answer is not valid JSON");
	}
	buf_consume(&a->in, r.used);
	if (r.status < 200 || r.status > 299) {
		const char *fault = json_text(body, "fault_message", NULL);

		error_set(&why, ERR_IO, "Firecracker refused %s: %.300s (status %d)",
			  a->calls[a->first].name, fault ? fault : "it gave no reason", r.status);
	}
	answer_call(a, body, why.code ? &why : NULL);
	return 1;
}

static void take_answers(struct api *a)
{
	struct error why = {0};
	int taken;

	while (!a->closed && !a->freed && (taken = take_answer(a, &why)) != 0) {
		if (taken < 0)
			break_api(a, &why);
		else
			begin_call(a);
	}
}

static void receive_api(struct api *a)
{
	struct error why = {0};
	uint8_t *room = buf_reserve(&a->in, READ_BYTES, &why);
	ssize_t n = room ? recv(a->fd, room, READ_BYTES, MSG_DONTWAIT) : -1;

	if (!room) {
		break_api(a, &why);
	} else if (n > 0) {
		buf_commit(&a->in, (size_t)n);
		take_answers(a);
	} else if (n == 0 && a->in.len > 0) {
		error_set(
			&why, ERR_IO,
			"the answer ends in the middle: Firecracker has crashed, or was taken over");
		break_api(a, &why);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		/* After an error of recv() the connection is closed silently: Firecracker has
		 * ended, and has not read all bytes. */
		shut_api(a, NULL);
	}
}

static void on_api(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct api *a = data;
	struct error why = {0};

	(void)loop, (void)fd;
	api_enter(a);
	if (events & LOOP_OUT && send_call(a, &why) < 0)
		break_api(a, &why);
	if (!a->closed && !a->freed && events & (LOOP_IN | LOOP_HUP | LOOP_ERR))
		receive_api(a);
	api_leave(a);
}

struct api *api_new(struct loop *loop, int fd, const struct api_events *events, struct error *err)
{
	struct api *a = calloc(1, sizeof(*a));

	if (!a) {
		close(fd);
		error_errno(err, ENOMEM, "API");
		return NULL;
	}
	*a = (struct api){.loop = loop, .fd = fd, .events = *events, .deadline = LIMIT_API_MS};
	a->in = (struct buf)BUF_INIT(HTTP_HEAD_MAX + limit_get(LIMIT_API_BODY_BYTES) + READ_BYTES);
	a->watch = loop_add_fd(loop, fd, LOOP_IN, on_api, a, err);
	if (!a->watch) {
		api_destroy(a);
		return NULL;
	}
	return a;
}
