/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "guest/machine/reach.h"

/* An attempt to connect to a port. The host first sends the number of the port. */
struct told {
	struct reach_port port;
	uint8_t bytes[sizeof(in_port_t)];
	size_t len;
	struct loop_watch *watch, *timer;
	void *attempt;
	reached_fn *done;
	void *data;
};

static void stop_reading(struct told *t)
{
	loop_remove(steal_ptr(&t->watch));
	loop_remove(steal_ptr(&t->timer));
}

/* Frees the attempt, and gives its result to the caller of reach_told(). reach_port() also calls
 * this function with its result. */
static void settle_told(void *told, int fd, const struct error *why)
{
	struct told *t = told;
	reached_fn *done = t->done;
	void *data = t->data;

	stop_reading(t);
	free(t);
	done(data, fd, why);
}

static void on_port_bytes(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct told *t = data;
	ssize_t n = recv(fd, t->bytes + t->len, sizeof(t->bytes) - t->len, MSG_DONTWAIT);
	struct error err = {0};
	in_port_t number;

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		error_set(
			&err, ERR_IO,
			"the host closed a connection before it sent the port that the connection is for: this is a bug, or the host is ending the machine");
		settle_told(t, -1, &err);
		return;
	}
	t->len += (size_t)n;
	if (t->len < sizeof(t->bytes))
		return;
	memcpy(&number, t->bytes, sizeof(number));
	t->port.number = ntohs(number);
	stop_reading(t);
	t->attempt = reach_port(&t->port, settle_told, t, &err);
	if (!t->attempt)
		settle_told(t, -1, &err);
}

static void on_port_late(struct loop *loop, void *data)
{
	struct told *t = data;
	struct error err = {0};

	(void)loop;
	t->timer = NULL;
	error_set(
		&err, ERR_TIMEOUT,
		"the host did not send in time the port that a connection is for: this is a bug, or the host is busy");
	settle_told(t, -1, &err);
}

void *reach_told(void *data, int fd, reached_fn *done, void *done_data, struct error *err)
{
	struct loop *loop = data;
	struct told *t = calloc(1, sizeof(*t));

	if (!t) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*t = (struct told){.port = {.loop = loop}, .done = done, .data = done_data};
	t->timer = loop_add_timer(loop, limit_deadline(LIMIT_REACH_MS), on_port_late, t, err);
	if (t->timer)
		t->watch = loop_add_fd(loop, fd, LOOP_IN, on_port_bytes, t, err);
	if (t->watch)
		return t;
	stop_reading(t);
	free(t);
	return NULL;
}

void reach_told_give_up(void *attempt)
{
	struct told *t = attempt;

	stop_reading(t);
	if (t->attempt)
		reach_give_up(t->attempt);
	free(t);
}
