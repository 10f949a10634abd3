/* SPDX-License-Identifier: MIT */
#include "supervisor/live/shell_probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "channel/dial.h"

struct shell_probe {
	struct loop *loop;
	struct dial *dial;
	int fd;
	struct loop_watch *watch, *timer;
	uint64_t deadline_ns;
	shell_probed_fn *done;
	void *data;
};

void shell_probe_free(struct shell_probe *probe)
{
	if (!probe)
		return;
	dial_free(probe->dial);
	loop_remove(probe->watch);
	loop_remove(probe->timer);
	if (probe->fd >= 0)
		close(probe->fd);
	free(probe);
}

static void finish_probe(struct shell_probe *probe, const struct error *why)
{
	shell_probed_fn *done = probe->done;
	void *data = probe->data;

	shell_probe_free(probe);
	done(data, why);
}

/* Reads the agent's answer. Any line is enough, since it shows that the agent runs and reads. */
static void on_agent_answer(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct shell_probe *probe = data;
	char bytes[512];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	struct error err;

	(void)loop;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0 && !memchr(bytes, '\n', (size_t)n))
		return;
	if (n <= 0)
		error_set(&err, ERR_UNAVAILABLE,
			  "the guest's agent closed the connection without an answer");
	finish_probe(probe, n > 0 ? NULL : &err);
}

static void on_probe_late(struct loop *loop, void *data)
{
	struct shell_probe *probe = data;
	struct error err;

	(void)loop;
	probe->timer = NULL;
	error_set(&err, ERR_TIMEOUT,
		  "the guest's agent accepted a connection, but did not answer in time");
	finish_probe(probe, &err);
}

static int ask_agent(struct shell_probe *probe, struct error *err)
{
	if (send(probe->fd, AGENT_PING, strlen(AGENT_PING), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return error_errno(err, errno, "vsock.sock");
	probe->watch = loop_add_fd(probe->loop, probe->fd, LOOP_IN, on_agent_answer, probe, err);
	probe->timer = loop_add_timer(probe->loop, probe->deadline_ns, on_probe_late, probe, err);
	return probe->watch && probe->timer ? 0 : -1;
}

static void on_agent_reached(void *data, int fd, const struct error *why)
{
	struct shell_probe *probe = data;
	struct error err;

	probe->dial = NULL;
	probe->fd = fd;
	if (fd >= 0 && ask_agent(probe, &err) == 0)
		return;
	finish_probe(probe, why ? why : &err);
}

struct shell_probe *shell_probe_new(struct loop *loop, int workspace_fd, uint64_t deadline_ns,
				    shell_probed_fn *done, void *data, struct error *err)
{
	struct shell_probe *probe = calloc(1, sizeof(*probe));

	if (!probe) {
		error_errno(err, ENOMEM, "memory");
		return NULL;
	}
	*probe = (struct shell_probe){
		.loop = loop, .fd = -1, .deadline_ns = deadline_ns, .done = done, .data = data};
	probe->dial = dial_on_loop(loop, workspace_fd, AGENT_PORT, NULL, deadline_ns,
				   on_agent_reached, probe, err);
	if (!probe->dial) {
		free(probe);
		return NULL;
	}
	return probe;
}
