/* SPDX-License-Identifier: MIT */
#include "guest/agent/conn.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "guest/agent/mux.h"

void conn_add(struct conn *conn, struct call *call)
{
	call->conn = conn;
	list_add_first(&conn->calls, &call->link);
	conn->ncalls++;
}

void conn_remove(struct conn *conn, struct call *call)
{
	list_remove(&call->link);
	conn->ncalls--;
}

static void abandon_calls(struct conn *conn)
{
	struct call *call;

	while ((call = list_first(&conn->calls, struct call, link))) {
		conn_remove(conn, call);
		call->kind->abandon(call);
	}
}

void conn_end(struct conn *conn)
{
	if (conn->dead)
		return;
	conn->dead = true;
	loop_remove(steal_ptr(&conn->idle));
	framed_close(&conn->wire);
	abandon_calls(conn);
	list_remove(&conn->link);
	list_add(&conn->all->dead, &conn->link);
	conn->all->count--;
	if (conn->closed)
		conn->closed(conn->closed_data);
}

void conn_say(struct conn *conn, char *text)
{
	int got = -1;

	if (!conn->dead && text)
		got = conn->form->send(&conn->wire, text, NULL);
	free(text);
	if (got < 0)
		conn_end(conn);
}

void conn_refuse(struct conn *conn, char *text)
{
	abandon_calls(conn);
	conn_say(conn, text);
	conn->closing = true;
}

void conn_set_form(struct conn *conn, const struct conn_form *form)
{
	conn->form = form;
	conn->wire.most = (size_t)limit_get(form->most);
}

/* Returns true if a call of this connection has not sent its client how the command ended. */
static bool has_untold_calls(const struct conn *conn)
{
	const struct call *call;

	list_each (call, &conn->calls, link)
		if (!call->told)
			return true;
	return false;
}

/* --- waiting for a request ------------------------------------------------------------------- */

static void on_idle(struct loop *loop, void *data)
{
	struct conn *conn = data;

	(void)loop;
	conn->idle = NULL;
	conn_end(conn);
}

static int wait_for_request(struct conn *conn, struct error *err)
{
	uint64_t until = limit_deadline(LIMIT_AGENT_IDLE_MS);

	loop_remove(conn->idle);
	conn->idle = loop_add_timer(conn->all->loop, until, on_idle, conn, err);
	return conn->idle ? 0 : -1;
}

void conn_asked(struct conn *conn)
{
	conn->asked = true;
	loop_remove(steal_ptr(&conn->idle));
}

/* --- what arrives ---------------------------------------------------------------------------- */

/* Called when the bytes that have come cannot be handled further at present. Closes the connection,
 * or chooses for which events the connection waits. */
static void conn_settle(struct conn *conn)
{
	const struct conn_form *form = conn->form;
	struct framed *wire = &conn->wire;
	bool answered = conn->asked && !conn->streaming && wire->in.len == 0 && !form->repeats;
	struct call *call;

	/* The client has shut down its side of the connection, so the commands get the end of
	 * stdin. */
	if (wire->ended && !conn->waiting) {
		list_each (call, &conn->calls, link) {
			if (call->kind->input_ended)
				call->kind->input_ended(call);
			/* input_ended() may send a message. If there is no memory for the message,
			 * the connection ends with all its calls, and the list of calls must not be
			 * read further. */
			if (conn->dead)
				return;
		}
	}
	if (wire->ended ? !has_untold_calls(conn) : answered && conn->ncalls == 0)
		conn->closing = true;
	if (conn->closing && wire->out.len == 0) {
		conn_end(conn);
		return;
	}
	if (form->repeats && !conn->closing && conn->ncalls == 0 && wire->out.len == 0 &&
	    !conn->idle && wait_for_request(conn, NULL) < 0) {
		conn_end(conn);
		return;
	}
	framed_set_reading(wire, !conn->closing && !conn->waiting &&
					 (!form->may_read || form->may_read(conn)));
}

void conn_go_on(struct conn *conn)
{
	if (conn->busy || conn->dead)
		return;
	conn->busy = true;
	while (!conn->dead && !conn->closing && conn->form->step(conn))
		;
	conn->busy = false;
	if (!conn->dead)
		conn_settle(conn);
}

static void on_conn_input(void *data)
{
	struct conn *conn = data;

	conn_go_on(conn);
	/* A long first request may arrive slowly. While the bytes of the request arrive, the
	 * connection does not count as idle. */
	if (!conn->dead && conn->idle && wait_for_request(conn, NULL) < 0)
		conn_end(conn);
}

static void on_conn_drained(void *data)
{
	struct conn *conn = data;
	struct call *call;

	list_each (call, &conn->calls, link) {
		call->kind->drained(call);
		if (conn->dead)
			return; /* no memory for an event: the connection has ended */
	}
	conn_settle(conn);
}

static void on_conn_lost(void *data, const char *why)
{
	(void)why;
	conn_end(data);
}

static const struct framed_owner conn_owner = {
	.input = on_conn_input,
	.drained = on_conn_drained,
	.lost = on_conn_lost,
};

/* --- all of them ----------------------------------------------------------------------------- */

static struct conn *conn_alloc(struct conns *conns, struct error *err)
{
	struct conn *conn = calloc(1, sizeof(*conn));

	if (!conn) {
		error_errno(err, ENOMEM, "connection");
		return NULL;
	}
	conn->all = conns;
	list_init(&conn->calls);
	if (wait_for_request(conn, err) < 0) {
		free(conn);
		return NULL;
	}
	return conn;
}

static struct conn *conn_begin(struct conn *conn)
{
	conn_set_form(conn, conn->all->unknown);
	list_add_first(&conn->all->live, &conn->link);
	conn->all->count++;
	return conn;
}

struct conn *conn_new(struct conns *conns, int fd, struct error *err)
{
	struct conn *conn = conn_alloc(conns, err);

	if (!conn)
		return NULL;
	if (framed_open(&conn->wire, conns->loop, fd, 0, &conn_owner, conn, err) < 0) {
		loop_remove(conn->idle);
		free(conn);
		return NULL;
	}
	return conn_begin(conn);
}

struct conn *conn_new_carried(struct conns *conns, struct mux_stream *stream, struct error *err)
{
	struct conn *conn = conn_alloc(conns, err);

	if (!conn)
		return NULL;
	framed_open_carried(&conn->wire, conns->loop, &mux_carrier, stream, 0, &conn_owner, conn);
	return conn_begin(conn);
}

void conns_init(struct conns *conns, struct loop *loop, const struct conn_form *unknown)
{
	*conns = (struct conns){.loop = loop, .unknown = unknown};
	list_init(&conns->live);
	list_init(&conns->dead);
}

void conns_sweep(struct conns *conns)
{
	struct conn *conn;

	list_each (conn, &conns->dead, link) {
		list_remove(&conn->link);
		free(conn);
	}
}

bool conns_are_quiet(const struct conns *conns)
{
	const struct conn *conn;

	list_each (conn, &conns->live, link)
		if (conn->wire.out.len > 0)
			return false;
	return true;
}

void conns_end(struct conns *conns)
{
	struct conn *conn;

	while ((conn = list_first(&conns->live, struct conn, link)))
		conn_end(conn);
}
