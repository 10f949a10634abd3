/* SPDX-License-Identifier: MIT */
/* What a Firecracker that a guest has taken over may answer on its API, in pieces of every size. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backend/firecracker/api.h"
#include "base/fd.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CALLS 4

struct heard {
	int closed, answers;
};

static void on_answer(void *data, const json_t *body, const struct error *why)
{
	struct heard *heard = data;

	(void)body;
	if (++heard->answers > CALLS || heard->closed || (why && !why->code))
		abort();
}

static void on_closed(void *data, const struct error *why, bool silent)
{
	struct heard *heard = data;

	(void)silent;
	/* A caller that waits for an answer has got one before. */
	if (++heard->closed > 1 || heard->answers != CALLS || !why->code)
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

/* The first byte says how long the pieces are. */
static void talk(struct loop *loop, int peer, const uint8_t *data, size_t size)
{
	size_t piece = (size_t)data[0] * 4 + 1;

	for (data++, size--; size > 0;) {
		ssize_t n =
			send(peer, data, piece < size ? piece : size, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0)
			return; /* the client has closed */
		data += n;
		size -= (size_t)n;
		settle(loop, peer);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct heard heard = {0};
	const struct api_events events = {on_closed, &heard};
	struct error err = {0};
	int ends[2];

	if (size < 1 || fd_socketpair(ends, &err) < 0)
		return 0;
	struct loop *loop = loop_new(&err);
	struct api *api = loop ? api_new(loop, ends[0], &events, &err) : NULL;
	if (!api)
		abort();
	for (int i = 0; i < CALLS; i++)
		if (api_call(api, "PUT", "/vsock", json_object(), on_answer, &heard, &err) < 0)
			abort();
	settle(loop, ends[1]);
	talk(loop, ends[1], data, size);
	shutdown(ends[1], SHUT_RDWR);
	settle(loop, ends[1]);
	if (!heard.closed)
		abort();
	api_free(api);
	loop_free(loop);
	close(ends[1]);
	return 0;
}
