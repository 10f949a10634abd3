/* SPDX-License-Identifier: MIT */
#include "channel/dialling.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"

/* "CONNECT 4294967295\n", "OK 4294967295\n" and some room. */
#define LINE_MAX 32

struct dialling {
	struct loop *loop;
	int dirfd, fd;
	uint32_t port;
	uint64_t deadline_ns;
	struct loop_watch *watch;
	struct loop_watch *timer; /* when to try again to get into the backlog, or to give up */
	reached_fn *done;
	void *data;
};

void dialling_free(struct dialling *d)
{
	if (!d)
		return;
	loop_remove(d->watch);
	loop_remove(d->timer);
	if (d->fd >= 0)
		close(d->fd);
	free(d);
}

static void finish(struct dialling *d, const struct error *why)
{
	reached_fn *done = d->done;
	void *data = d->data;
	int fd = -1;

	if (!why) {
		loop_remove(steal_ptr(&d->watch));
		fd = steal_fd(&d->fd);
	}
	dialling_free(d);
	done(data, fd, why);
}

static void refused(struct dialling *d)
{
	struct error err;

	error_set(&err, ERR_UNAVAILABLE, "the guest refuses connections to its port %u", d->port);
	finish(d, &err);
}

/* The line alone is taken: what follows it belongs to the stream. */
static void on_answer(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct dialling *d = data;
	char line[LINE_MAX];
	ssize_t n = recv(fd, line, sizeof(line), MSG_PEEK | MSG_DONTWAIT);
	const char *end = n > 0 ? memchr(line, '\n', (size_t)n) : NULL;
	struct error err;

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		refused(d);
		return;
	}
	if ((n >= 3 && memcmp(line, "OK ", 3) != 0) || (!end && n == LINE_MAX)) {
		error_set(&err, ERR_IO, "vsock.sock answered with no OK line");
		finish(d, &err);
		return;
	}
	/* vsockd sends the line in one piece; a part of it would be seen again and again. */
	if (end && recv(fd, line, (size_t)(end - line) + 1, MSG_DONTWAIT) > 0)
		finish(d, NULL);
}

static void on_late(struct loop *loop, void *data)
{
	struct dialling *d = data;
	struct error err;

	(void)loop;
	d->timer = NULL;
	error_set(&err, ERR_TIMEOUT, "the guest does not answer on its port %u", d->port);
	finish(d, &err);
}

static void on_begin(struct loop *loop, void *data);

static int set_timer(struct dialling *d, uint64_t deadline_ns, loop_timer_fn *fn, struct error *err)
{
	d->timer = loop_add_timer(d->loop, deadline_ns, fn, d, err);
	return d->timer ? 0 : -1;
}

static int begin(struct dialling *d, struct error *err)
{
	uint64_t again = limit_deadline(LIMIT_ACCEPT_AGAIN_MS);
	char line[LINE_MAX];
	int len = snprintf(line, sizeof(line), "CONNECT %u\n", d->port);

	d->fd = sock_connect_now_at(d->dirfd, "vsock.sock", err);
	if (d->fd < 0 && err->errnum == EAGAIN && again < d->deadline_ns)
		return set_timer(d, again, on_begin, err);
	if (d->fd < 0)
		return -1;
	if (send(d->fd, line, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT) != len)
		return error_errno(err, errno, "vsock.sock");
	d->watch = loop_add_fd(d->loop, d->fd, EPOLLIN, on_answer, d, err);
	return d->watch ? set_timer(d, d->deadline_ns, on_late, err) : -1;
}

static void on_begin(struct loop *loop, void *data)
{
	struct dialling *d = data;
	struct error err = {0};

	(void)loop;
	d->timer = NULL;
	if (begin(d, &err) < 0)
		finish(d, &err);
}

struct dialling *dialling_new(struct loop *loop, int dirfd, uint32_t port, uint64_t deadline_ns,
			      reached_fn *done, void *data, struct error *err)
{
	struct dialling *d = calloc(1, sizeof(*d));

	if (!d) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*d = (struct dialling){.loop = loop,
			       .dirfd = dirfd,
			       .fd = -1,
			       .port = port,
			       .deadline_ns = deadline_ns,
			       .done = done,
			       .data = data};
	if (set_timer(d, clock_mono_ns(), on_begin, err) < 0) {
		free(d);
		return NULL;
	}
	return d;
}
