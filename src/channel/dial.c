/* SPDX-License-Identifier: MIT */
#include "channel/dial.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

/* A number of bytes that is enough for the longest answer to a CONNECT, "OK 4294967295\n". */
#define ANSWER_MAX 32

int dial_request(struct buf *out, uint32_t port, struct error *err)
{
	return buf_printf(out, err, "CONNECT %u\n", port);
}

int dial_answer(const void *bytes, size_t len, struct error *err)
{
	static const char ok[] = "OK ";
	size_t front = len < strlen(ok) ? len : strlen(ok);
	const char *end = memchr(bytes, '\n', len < ANSWER_MAX ? len : ANSWER_MAX);
	size_t line = end ? (size_t)(end - (const char *)bytes) + 1 : 0;

	if (memcmp(bytes, ok, front) != 0 || (end && line <= strlen(ok) + 1) ||
	    (!end && len >= ANSWER_MAX))
		return error_set(
			err, ERR_IO,
			"vsock.sock, by which the guest is reached, did not answer with a line that begins with OK: this is a bug, or the process behind it was taken over");
	return (int)line;
}

struct answer {
	char bytes[ANSWER_MAX];
	size_t len; /* number of bytes of the line that have arrived so far */
};

/* Reads the OK line from the socket, and no byte after this line. Returns 1 if the line is
 * complete, 0 if more of the line will come, -1 on an error. Looks at the bytes (MSG_PEEK) before
 * it reads them. Reads an incomplete line too, because otherwise the socket would stay readable. */
static int dial_take_answer(int fd, uint32_t port, struct answer *answer, struct error *err)
{
	char *at = answer->bytes + answer->len;
	ssize_t n = recv(fd, at, ANSWER_MAX - answer->len, MSG_PEEK | MSG_DONTWAIT);
	int line;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	/* ECONNRESET means that the peer has closed the connection without reading the bytes that
	 * were sent to it. */
	if (n == 0 || (n < 0 && errno == ECONNRESET))
		return error_set(
			err, ERR_UNAVAILABLE,
			"the guest refuses connections to its port %u: no program of the guest listens there",
			port);
	if (n < 0)
		return error_errno(err, errno, "vsock.sock");
	line = dial_answer(answer->bytes, answer->len + (size_t)n, err);
	if (line < 0)
		return -1;
	if (line > 0)
		n = line - (ssize_t)answer->len;
	/* recv() must return all n bytes, because MSG_PEEK has shown that they have arrived. */
	if (recv(fd, at, (size_t)n, MSG_DONTWAIT) != n)
		return error_set(
			err, ERR_IO,
			"vsock.sock, by which the guest is reached, lost a part of its answer: this is a bug of microagent");
	answer->len += (size_t)n;
	return line > 0;
}

const char *dial_way(int dirfd, uint32_t port)
{
	bool is_linked = port == AGENT_PORT || port > PUBLISH_PORT_FIRST;

	return is_linked && faccessat(dirfd, AGENT_SOCK, F_OK, 0) == 0 ? AGENT_SOCK : "vsock.sock";
}

/* --- the dial that blocks -------------------------------------------------------------------- */

/* Sends the whole CONNECT line. Sends in the same write as much of `first` as the socket takes, and
 * removes these bytes from `first`. */
static int dial_send(int fd, uint32_t port, struct buf *first, uint64_t deadline_ns,
		     struct error *err)
{
	autobuf struct buf out = BUF_INIT(0);
	size_t line, sent = 0;

	if (dial_request(&out, port, err) < 0)
		return -1;
	line = out.len;
	if (first && buf_append(&out, buf_bytes(first), first->len, err) < 0)
		return -1;
	while (sent < line) {
		ssize_t n = send(fd, buf_bytes(&out) + sent, out.len - sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0)
			sent += (size_t)n;
		else if (errno == EAGAIN && fd_wait(fd, POLLOUT, deadline_ns, err) < 0)
			return -1;
		else if (errno != EAGAIN && errno != EINTR)
			return error_errno(err, errno, "vsock.sock");
	}
	if (first)
		buf_consume(first, sent - line);
	return 0;
}

static int dial_wait(int fd, uint32_t port, uint64_t deadline_ns, struct error *err)
{
	struct answer answer = {.len = 0};
	int got = 0;

	while (got == 0) {
		if (fd_wait(fd, POLLIN, deadline_ns, err) < 0)
			return -1;
		got = dial_take_answer(fd, port, &answer, err);
	}
	return got < 0 ? -1 : 0;
}

int dial_blocking(int dirfd, uint32_t port, struct buf *first, uint64_t deadline_ns,
		  struct error *err)
{
	autoclose int fd = sock_connect_at(dirfd, dial_way(dirfd, port), err);

	if (fd < 0) {
		if (err && (err->errnum == ECONNREFUSED || err->errnum == EAGAIN))
			err->code = ERR_UNAVAILABLE;
		return -1;
	}
	if (dial_send(fd, port, first, deadline_ns, err) == 0 &&
	    dial_wait(fd, port, deadline_ns, err) == 0)
		return steal_fd(&fd);
	/* The VMM or vsockd ended after it had accepted the connection. */
	if (err && (err->errnum == EPIPE || err->errnum == ECONNRESET))
		err->code = ERR_UNAVAILABLE;
	return error_prefix(err, "the guest cannot be reached");
}

/* --- the dial on a loop ---------------------------------------------------------------------- */

struct dial {
	struct loop *loop;
	int dirfd, fd;
	uint32_t port;
	uint64_t deadline_ns;
	struct buf request; /* the CONNECT line, and the first bytes for the guest */
	struct answer answer;
	struct loop_watch *watch;
	struct loop_watch *timer; /* fires when the dial must be tried again after a full backlog,
				   * or is given up */
	reached_fn *done;
	void *data;
};

void dial_free(struct dial *d)
{
	if (!d)
		return;
	loop_remove(d->watch);
	loop_remove(d->timer);
	if (d->fd >= 0)
		close(d->fd);
	buf_free(&d->request);
	free(d);
}

static void dial_finish(struct dial *d, const struct error *why)
{
	reached_fn *done = d->done;
	void *data = d->data;
	int fd = -1;

	if (!why) {
		loop_remove(steal_ptr(&d->watch));
		fd = steal_fd(&d->fd);
	}
	dial_free(d);
	done(data, fd, why);
}

static void on_dial_answer(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct dial *d = data;
	struct error err = {0};
	int got = dial_take_answer(fd, d->port, &d->answer, &err);

	(void)loop;
	(void)events;
	if (got != 0)
		dial_finish(d, got < 0 ? &err : NULL);
}

static void on_dial_late(struct loop *loop, void *data)
{
	struct dial *d = data;
	struct error err;

	(void)loop;
	d->timer = NULL;
	error_set(
		&err, ERR_TIMEOUT,
		"the guest does not answer on its port %u: it is paused, hangs, or has too much to do",
		d->port);
	dial_finish(d, &err);
}

static void on_dial_begin(struct loop *loop, void *data);

static int dial_set_timer(struct dial *d, uint64_t deadline_ns, loop_timer_fn *fn,
			  struct error *err)
{
	d->timer = loop_add_timer(d->loop, deadline_ns, fn, d, err);
	return d->timer ? 0 : -1;
}

/* Serves dial_duty: connects to the guest. `data` is the descriptor of the workspace. The request
 * contains the port. */
static int serve_dial(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	int dirfd = *(const int *)data;
	uint32_t port;

	if (in->len != sizeof(port))
		return error_set(
			err, ERR_INVALID,
			"the broker refuses to connect to the guest, because the request does not name a port: this is a bug, or the live supervisor was taken over");
	memcpy(&port, in->bytes, sizeof(port));
	if (broker_check_ways(err) < 0)
		return -1;
	out->fds[0] = sock_connect_now_at(dirfd, dial_way(dirfd, port), err);
	out->nfds = out->fds[0] >= 0;
	return out->nfds ? 0 : -1;
}

const struct broker_duty dial_duty = {serve_dial};

static int connect_to_guest(int dirfd, uint32_t port, struct error *err)
{
	struct broker_message in = {.len = sizeof(port)}, out;

	if (!broker_is_asked())
		return sock_connect_now_at(dirfd, dial_way(dirfd, port), err);
	memcpy(in.bytes, &port, sizeof(port));
	if (broker_ask(&dial_duty, &in, &out, err) < 0)
		return -1;
	return out.nfds == 1
		       ? out.fds[0]
		       : error_set(
				 err, ERR_INTERNAL,
				 "the broker's answer has no connection to the guest in it: this is a bug of microagent");
}

static int dial_begin(struct dial *d, struct error *err)
{
	uint64_t again = limit_deadline(LIMIT_ACCEPT_AGAIN_MS);
	const struct buf *request = &d->request;

	d->fd = connect_to_guest(d->dirfd, d->port, err);
	if (d->fd < 0 && err->errnum == EAGAIN && again < d->deadline_ns)
		return dial_set_timer(d, again, on_dial_begin, err);
	if (d->fd < 0)
		return -1;
	if (send(d->fd, buf_bytes(request), request->len, MSG_NOSIGNAL | MSG_DONTWAIT) !=
	    (ssize_t)request->len)
		return error_errno(err, errno, "vsock.sock");
	d->watch = loop_add_fd(d->loop, d->fd, LOOP_IN, on_dial_answer, d, err);
	return d->watch ? dial_set_timer(d, d->deadline_ns, on_dial_late, err) : -1;
}

static void on_dial_begin(struct loop *loop, void *data)
{
	struct dial *d = data;
	struct error err = {0};

	(void)loop;
	d->timer = NULL;
	if (dial_begin(d, &err) < 0)
		dial_finish(d, &err);
}

struct dial *dial_on_loop(struct loop *loop, int dirfd, uint32_t port, const struct buf *first,
			  uint64_t deadline_ns, reached_fn *done, void *data, struct error *err)
{
	struct dial *d = calloc(1, sizeof(*d));

	if (!d) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*d = (struct dial){.loop = loop,
			   .dirfd = dirfd,
			   .fd = -1,
			   .port = port,
			   .deadline_ns = deadline_ns,
			   .request = BUF_INIT(ANSWER_MAX + DIAL_FIRST_MAX),
			   .done = done,
			   .data = data};
	if (dial_request(&d->request, port, err) == 0 &&
	    (!first || buf_append(&d->request, buf_bytes(first), first->len, err) == 0) &&
	    dial_set_timer(d, clock_mono_ns(), on_dial_begin, err) == 0)
		return d;
	dial_free(d);
	return NULL;
}
