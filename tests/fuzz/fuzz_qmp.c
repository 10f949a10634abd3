/* SPDX-License-Identifier: MIT */
/* What a QEMU that a guest has taken over may send to the client of its monitor, in pieces of every
 * size. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/qemu/qmp.h"
#include "base/clock.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define COMMANDS 3
static const char greeting[] = "{\"QMP\":{\"version\":{},\"capabilities\":[]}}\r\n"
			       "{\"return\":{},\"id\":1}\r\n";

struct heard {
	int ready, closed, replies;
};

static void on_ready(void *data)
{
	if (++((struct heard *)data)->ready > 1)
		abort();
}

static void on_event(void *data, const char *name, const json_t *body)
{
	struct heard *heard = data;

	if (!name || (body && !json_is_object(body)) || heard->closed)
		abort();
}

static void on_closed(void *data, const struct error *why)
{
	struct heard *heard = data;

	(void)why;
	/* A caller that waits for a reply has got one before. */
	if (++heard->closed > 1 || heard->replies != COMMANDS)
		abort();
}

static void on_reply(void *data, const json_t *result, const struct error *why)
{
	struct heard *heard = data;

	if (!result == !why || ++heard->replies > COMMANDS || heard->closed)
		abort();
}

/* Runs rounds until nothing is left to do, and takes the client's bytes from its socket. */
static void settle(struct loop *loop, int peer)
{
	struct error err = {0};
	char bytes[4096];
	int n;

	do {
		n = loop_once(loop, 0, &err);
		if (n < 0)
			abort();
		while (recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
			;
	} while (n > 0);
}

static void say(struct loop *loop, int peer, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0) {
		ssize_t n = send(peer, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return; /* the client has closed */
		bytes += n;
		size -= (size_t)n;
		settle(loop, peer);
	}
}

/* The first byte says whether the talk begins as it should, and how long the pieces are. */
static void talk(struct loop *loop, int peer, const uint8_t *data, size_t size)
{
	size_t piece = (size_t)(data[0] & 0x7f) * 8 + 1;

	if (data[0] & 0x80)
		say(loop, peer, greeting, sizeof(greeting) - 1);
	for (data++, size--; size > 0;) {
		size_t n = piece < size ? piece : size;

		say(loop, peer, data, n);
		data += n;
		size -= n;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard heard = {0};
	const struct qmp_events events = {on_ready, on_event, on_closed, &heard};
	struct error err = {0};
	struct loop *loop;
	struct qmp *qmp;
	int ends[2];

	if (size < 1)
		return 0;
	clock_set_virtual(NS_PER_S);
	loop = loop_new(&err);
	if (!loop || fd_socketpair(ends, &err) < 0)
		abort();
	qmp = qmp_new(loop, ends[1], &events, &err);
	if (!qmp)
		abort();
	for (int i = 0; i < COMMANDS; i++)
		if (qmp_send(qmp, "query-status", NULL, on_reply, &heard, &err) < 0)
			abort();
	talk(loop, ends[0], data, size);
	shutdown(ends[0], SHUT_RDWR);
	settle(loop, ends[0]);
	if (heard.closed != 1)
		abort();
	qmp_free(qmp);
	loop_free(loop);
	close(ends[0]);
	return 0;
}
