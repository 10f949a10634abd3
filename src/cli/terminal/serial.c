/* SPDX-License-Identifier: MIT */
#include "cli/terminal/serial.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/job_control.h"

#define CHUNK 4096u
/* How many typed bytes are kept at most while the guest does not read them. */
#define TYPED_MAX 65536u

enum slot { SLOT_CONSOLE, SLOT_IN, SLOT_OUT, SLOT_CANCEL, SLOT_COUNT };

struct serial {
	int console, in, out, escape;
	char typed[TYPED_MAX], said[CHUNK];
	size_t typed_len, said_at, said_len;
	bool in_open, heard, done;
	enum serial_end end;
};

static void finish(struct serial *s, enum serial_end end)
{
	s->done = true;
	s->end = end;
}

static int receive(struct serial *s, struct error *err)
{
	ssize_t n = recv(s->console, s->said, sizeof(s->said), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno != ECONNRESET)
		return error_errno(err, errno, "console.sock");
	if (n <= 0) {
		finish(s, SERIAL_CLOSED);
		return 0;
	}
	s->heard = true;
	s->said_at = 0;
	s->said_len = (size_t)n;
	return 0;
}

/* Writes bytes of the guest to `out`. Writes at most PIPE_BUF bytes: a pipe or terminal has room
 * for them without blocking after poll(). */
static int say_on_serial(struct serial *s, struct error *err)
{
	size_t len = s->said_len < PIPE_BUF ? s->said_len : PIPE_BUF;
	ssize_t n = write(s->out, s->said + s->said_at, len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno == EPIPE) {
		finish(s, SERIAL_OUT_CLOSED);
		return 0;
	}
	if (n < 0)
		return error_errno(err, errno, "cannot write to stdout");
	s->said_at += (size_t)n;
	s->said_len -= (size_t)n;
	return 0;
}

static void send_typed(struct serial *s)
{
	ssize_t n = send(s->console, s->typed, s->typed_len, MSG_NOSIGNAL | MSG_DONTWAIT);

	/* Drops the typed bytes if the console has ended. The code that reads from the console
	 * notices the end. */
	if (n < 0)
		n = errno == EAGAIN || errno == EINTR ? 0 : (ssize_t)s->typed_len;
	memmove(s->typed, s->typed + n, s->typed_len - (size_t)n);
	s->typed_len -= (size_t)n;
}

static void type(struct serial *s)
{
	char *at = s->typed + s->typed_len;
	const char *escape;
	ssize_t n;

	/* Returns before the read if this program was stopped and continued, so that the signals
	 * are checked first. */
	if (is_in_background(s->in) && job_stop(SIGTTIN))
		return;
	n = read(s->in, at, TYPED_MAX - s->typed_len);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		s->in_open = false;
		return;
	}
	escape = s->escape >= 0 ? memchr(at, s->escape, (size_t)n) : NULL;
	s->typed_len += escape ? (size_t)(escape - at) : (size_t)n;
	send_typed(s);
	if (escape)
		finish(s, SERIAL_DETACHED);
}

static int round_once(struct serial *s, int cancel, struct error *err)
{
	struct pollfd slots[SLOT_COUNT] = {
		[SLOT_CONSOLE] = {s->said_len == 0 || s->typed_len > 0 ? s->console : -1,
				  (short)((s->said_len == 0 ? POLLIN : 0) |
					  (s->typed_len > 0 ? POLLOUT : 0)),
				  0},
		[SLOT_IN] = {s->in_open && s->typed_len < TYPED_MAX ? s->in : -1, POLLIN, 0},
		[SLOT_OUT] = {s->out, s->said_len > 0 ? POLLOUT : 0, 0},
		[SLOT_CANCEL] = {cancel, POLLIN, 0},
	};

	if (poll(slots, SLOT_COUNT, -1) < 0)
		return errno == EINTR ? 0 : error_errno(err, errno, "poll");
	if (slots[SLOT_CANCEL].revents) {
		finish(s, SERIAL_CANCELLED);
		return 0;
	}
	if (slots[SLOT_OUT].revents & POLLERR && s->said_len == 0)
		finish(s, SERIAL_OUT_CLOSED);
	else if (slots[SLOT_OUT].revents && s->said_len > 0 && say_on_serial(s, err) < 0)
		return -1;
	if (slots[SLOT_CONSOLE].revents & POLLOUT)
		send_typed(s);
	if (slots[SLOT_CONSOLE].revents & (POLLIN | POLLHUP | POLLERR) && s->said_len == 0 &&
	    receive(s, err) < 0)
		return -1;
	if (slots[SLOT_IN].revents)
		type(s);
	return 0;
}

int serial_run(int console, int in, int out, int cancel, int escape, enum serial_end *end,
	       bool *heard, struct error *err)
{
	struct serial s = {
		.console = console, .in = in, .out = out, .escape = escape, .in_open = true};

	while (!s.done)
		if (round_once(&s, cancel, err) < 0)
			return -1;
	*end = s.end;
	*heard = s.heard;
	return 0;
}
