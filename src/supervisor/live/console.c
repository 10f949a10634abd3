/* SPDX-License-Identifier: MIT */
#include "supervisor/live/console.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

#define INPUT_MAX 4096u

struct console {
	struct loop *loop;
	struct log *log;
	int listen_fd, fd; /* listen_fd is the listener; fd is the connection of the client, or -1
			    * if there is no client */
	struct loop_watch *listen_watch, *watch;
	struct loop_watch *again; /* the timer until clients are accepted again; NULL: clients are
				   * accepted */
	console_input_fn *input;
	void *data;
	struct buf out;	       /* the bytes of the guest that are not yet sent to the client */
	uint64_t lost;	       /* the number of bytes that the client did not read in time */
	uint8_t in[INPUT_MAX]; /* the bytes of the client that the guest has not accepted yet */
	size_t in_at, in_len;
	bool in_ended; /* the client has shut down its sending side, but may still read */
	bool waiting;  /* the bytes in `in` are sent when console_room() is called */
};

static void drop_console_client(struct console *console)
{
	if (console->fd < 0)
		return;
	loop_remove(console->watch);
	console->watch = NULL;
	close(console->fd);
	console->fd = -1;
	if (console->lost > 0)
		log_line(console->log,
			 "console: the client did not read %llu bytes, which are lost",
			 (unsigned long long)console->lost);
	buf_free(&console->out);
	console->lost = 0;
	console->in_at = console->in_len = 0;
	console->in_ended = console->waiting = false;
}

/* Sets the events for which the loop watches the client. LOOP_HUP is always one of them, so that a
 * disconnected client is noticed even if no other event is awaited. */
static void set_events(struct console *console)
{
	bool more = !console->in_ended && console->in_len == 0;
	uint32_t events = LOOP_HUP | (more ? LOOP_IN : 0) | (console->out.len > 0 ? LOOP_OUT : 0);
	struct error err;

	if (loop_set_events(console->watch, events, &err) == 0)
		return;
	log_line(console->log, "console: %s", err.msg);
	drop_console_client(console);
}

/* Sends the waiting bytes to the client. Returns -1 if the client has disconnected. */
static int flush_console(struct console *console)
{
	while (console->out.len > 0) {
		ssize_t n = send(console->fd, buf_bytes(&console->out), console->out.len,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		buf_consume(&console->out, (size_t)n);
	}
	buf_free(&console->out);
	return 0;
}

static void push_input(struct console *console)
{
	size_t n = console->input(console->data, console->in + console->in_at, console->in_len);

	console->in_at += n;
	console->in_len -= n;
	console->waiting = console->in_len > 0;
}

/* Reads the bytes that the client has typed, as long as the guest accepts them. Returns -1 if the
 * client has disconnected. */
static int receive_typed(struct console *console)
{
	while (console->in_len == 0 && !console->in_ended) {
		ssize_t n = recv(console->fd, console->in, sizeof(console->in), MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 0 : -1;
		console->in_ended = n == 0;
		console->in_at = 0;
		console->in_len = (size_t)n;
		if (n > 0)
			push_input(console);
	}
	return 0;
}

static void on_console_client(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct console *console = data;

	(void)loop;
	(void)fd;
	if (flush_console(console) < 0 || receive_typed(console) < 0 ||
	    events & (LOOP_HUP | LOOP_ERR))
		drop_console_client(console);
	else
		set_events(console);
}

static void on_accept_again(struct loop *loop, void *data)
{
	struct console *console = data;
	struct error err;

	(void)loop;
	console->again = NULL;
	if (loop_set_events(console->listen_watch, LOOP_IN, &err) < 0)
		log_line(console->log, "console: %s", err.msg);
}

/* Accepts no client for LIMIT_ACCEPT_AGAIN_MS, since no descriptor is free. */
static void accept_later(struct console *console)
{
	struct error err;

	console->again = loop_add_timer(console->loop, limit_deadline(LIMIT_ACCEPT_AGAIN_MS),
					on_accept_again, console, &err);
	if (!console->again || loop_set_events(console->listen_watch, 0, &err) < 0)
		log_limited(console->log, "console: %s", err.msg);
}

static void on_console_listener(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct console *console = data;
	struct error err = {0};
	autoclose int peer = sock_accept(fd, &err);

	(void)events;
	if (peer < 0 && fd_is_lacking(err.errnum))
		accept_later(console);
	if (peer < 0 || console->fd >= 0)
		/* Another client is connected, so the new connection is closed. */
		return;
	console->watch = loop_add_fd(loop, peer, LOOP_IN, on_console_client, console, &err);
	if (!console->watch) {
		log_line(console->log, "console: %s", err.msg);
		return;
	}
	console->fd = steal_fd(&peer);
	console->out = (struct buf)BUF_INIT(limit_get(LIMIT_CONSOLE_BYTES));
	log_line(console->log, "console: a client is connected");
}

struct console *console_new(struct loop *loop, int listen_fd, console_input_fn *input, void *data,
			    struct log *log, struct error *err)
{
	struct console *console = calloc(1, sizeof(*console));

	if (!console) {
		close(listen_fd);
		error_set(err, ERR_IO, "out of memory");
		return NULL;
	}
	*console = (struct console){.loop = loop,
				    .log = log,
				    .listen_fd = listen_fd,
				    .fd = -1,
				    .input = input,
				    .data = data};
	console->listen_watch =
		loop_add_fd(loop, listen_fd, LOOP_IN, on_console_listener, console, err);
	if (console->listen_watch)
		return console;
	console_free(console);
	return NULL;
}

void console_output(struct console *console, const uint8_t *bytes, size_t len)
{
	struct error ignored;
	size_t room;

	if (!console || console->fd < 0)
		return;
	room = console->out.limit - console->out.len;
	if (len > room || buf_append(&console->out, bytes, len, &ignored) < 0) {
		size_t kept = len > room && buf_append(&console->out, bytes, room, &ignored) == 0
				      ? room
				      : 0;

		console->lost += len - kept;
	}
	if (flush_console(console) < 0)
		drop_console_client(console);
	else
		set_events(console);
}

void console_room(struct console *console)
{
	if (!console || console->fd < 0 || !console->waiting)
		return;
	push_input(console);
	set_events(console);
}

void console_free(struct console *console)
{
	if (!console)
		return;
	/* Closes the listener before the connection of the client. So a client that is disconnected
	 * and connects again is refused, and learns that there is no console. If the listener were
	 * still open, the client would believe that another client uses the console. */
	loop_remove(console->again);
	loop_remove(console->listen_watch);
	close(console->listen_fd);
	drop_console_client(console);
	free(console);
}
