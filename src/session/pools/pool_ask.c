/* SPDX-License-Identifier: MIT */
/*
 * Asks members of a pool whether they answer. A running machine is not enough: the machine or its
 * agent may hang although vsock.sock still accepts connections. So the agent must answer. Members
 * are asked one after the other. If a member is slow, the next member is asked before the slow one
 * has answered, and both answers are waited for.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/descriptor.h"
#include "channel/dial.h"
#include "session/pools/pool.h"

/* An answer has two lines: "OK" with a port when the guest has accepted the connection, and a line
 * from the agent. */
#define LINES_OF_ANSWER 2

struct pool_asked {
	const char *name;
	unsigned lines;
};

int pool_asking_begin(struct pool_asking *asking, size_t most, struct error *err)
{
	*asking = (struct pool_asking){.asked = calloc(most + 1, sizeof(*asking->asked)),
				       .fds = calloc(most + 1, sizeof(*asking->fds))};
	return asking->asked && asking->fds ? 0 : error_errno(err, ENOMEM, "pool");
}

void pool_asking_end(struct pool_asking *asking)
{
	for (size_t i = 0; i < asking->count; i++)
		cleanup_close(&asking->fds[i].fd);
	free(asking->asked);
	free(asking->fds);
	*asking = (struct pool_asking){0};
}

const char *pool_asking_silent(const struct pool_asking *asking, size_t i)
{
	return asking->asked[i].name;
}

/* Sends the request to a member's agent. Returns the descriptor of the connection, which the caller
 * closes, or -1. */
static int ask_member(const struct microagent *agent, const char *name)
{
	auto_state_dir struct state_dir dir = {0};
	auto_workspace struct workspace ws = {0};
	autobuf struct buf text = BUF_INIT(256);
	autoclose int fd = -1;
	char id[SESSION_ID_ROOM];

	if (state_sub_open(agent, SESSIONS_DIR, false, &dir, NULL) < 0)
		return -1;
	snprintf(id, sizeof(id), "%s" BUNDLE_SUFFIX, name);
	if (workspace_open(&dir, id, false, &ws, NULL) < 0 || ws.fd < 0)
		return -1;
	fd = sock_connect_now_at(ws.fd, dial_way(ws.fd, AGENT_PORT), NULL);
	if (fd < 0 || dial_request(&text, AGENT_PORT, NULL) < 0 ||
	    buf_append(&text, AGENT_PING, strlen(AGENT_PING), NULL) < 0 ||
	    send(fd, buf_bytes(&text), text.len, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)text.len)
		return -1;
	return steal_fd(&fd);
}

void pool_ask(const struct microagent *agent, struct pool_asking *asking, const char *name)
{
	bool asked = limit_get(LIMIT_POOL_ANSWER_MS) > 0;

	asking->asked[asking->count] =
		(struct pool_asked){.name = name, .lines = asked ? 0 : LINES_OF_ANSWER};
	asking->fds[asking->count++] =
		(struct pollfd){.fd = asked ? ask_member(agent, name) : -1, .events = POLLIN};
}

/* Finds a member that has answered, removes it from the list, and returns its name. */
static const char *take_answering(struct pool_asking *asking)
{
	for (size_t i = 0; i < asking->count; i++) {
		const char *name = asking->asked[i].name;

		if (asking->asked[i].lines < LINES_OF_ANSWER)
			continue;
		cleanup_close(&asking->fds[i].fd);
		asking->count--;
		asking->asked[i] = asking->asked[asking->count];
		asking->fds[i] = asking->fds[asking->count];
		return name;
	}
	return NULL;
}

static void hear(struct pollfd *poll, struct pool_asked *asked)
{
	char bytes[512];
	ssize_t n = recv(poll->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	for (ssize_t i = 0; i < n; i++)
		asked->lines += bytes[i] == '\n';
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close(steal_fd(&poll->fd));
}

static bool is_any_open(const struct pool_asking *asking)
{
	for (size_t i = 0; i < asking->count; i++)
		if (asking->fds[i].fd >= 0)
			return true;
	return false;
}

const char *pool_asking_wait(struct pool_asking *asking, uint64_t deadline_ns)
{
	const char *name;

	while (!(name = take_answering(asking)) && is_any_open(asking)) {
		int ready = descriptor_poll(asking->fds, asking->count, deadline_ns);

		if (ready == 0 || (ready < 0 && errno != EINTR))
			return NULL;
		for (size_t i = 0; ready > 0 && i < asking->count; i++)
			if (asking->fds[i].revents)
				hear(&asking->fds[i], &asking->asked[i]);
	}
	return name;
}
