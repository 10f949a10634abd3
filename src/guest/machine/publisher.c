/* SPDX-License-Identifier: MIT */
/*
 * The process that connects vsock with the guest's published TCP ports. The process is separate
 * from the agent, so that very many connections do not slow down the agent. The process copies
 * bytes and does not interpret them.
 */
#include <sys/socket.h> /* <sys/socket.h> must come first, since vm_sockets.h needs it */

#include <linux/vm_sockets.h>

#include <stdlib.h>
#include <sys/prctl.h>

#include "base/fd.h"
#include "base/forward.h"
#include "base/limits.h"
#include "guest/console.h"
#include "guest/machine/publish.h"
#include "guest/machine/reach.h"
#include "guest/roles.h"

/* How many files the process may have open: two for each connection, and some for other uses. */
#define FILES 65536u

/* Returns true if the client is the host. A program in the guest could connect through vsock's
 * loopback, and must be refused. */
static bool is_host(const struct sockaddr_storage *peer)
{
	const struct sockaddr_vm *vm = (const struct sockaddr_vm *)peer;

	return peer->ss_family == AF_VSOCK && vm->svm_cid == VMADDR_CID_HOST;
}

static void *reach_its_port(void *data, int fd, reached_fn *done, void *done_data,
			    struct error *err)
{
	(void)fd;
	return reach_port(data, done, done_data, err);
}

static int serve_port(struct reach_port *port, int fd, struct error *err)
{
	const bool any = port->number == 0;
	const struct forward_spec spec = {
		.listen_fd = fd,
		.most = (unsigned)limit_get(LIMIT_PUBLISH_CONNECTIONS),
		.admits = is_host,
		.reach = any ? reach_told : reach_its_port,
		.give_up = any ? reach_told_give_up : reach_give_up,
		.data = any ? (void *)port->loop : port,
	};
	struct forward *forward;

	if (fd_nonblock(fd, true, err) < 0 || fd_cloexec(fd, true, err) < 0)
		return -1;
	forward = forward_new(port->loop, &spec, err);
	return forward ? forward_open(forward, err) : -1;
}

int role_publish(int argc, char **argv)
{
	struct reach_port *ports = calloc((size_t)argc, sizeof(*ports));
	struct error err = {0};
	struct loop *loop = ports ? loop_new(&err) : NULL;
	int status = loop ? 0 : -1;

	prctl(PR_SET_NAME, "microagent-pub");
	fd_raise_limit(FILES);
	for (int i = 1; i < argc && status == 0; i++) {
		ports[i] = (struct reach_port){loop, (uint16_t)strtoul(argv[i], NULL, 10)};
		status = serve_port(&ports[i], PUBLISH_FD_FIRST + i - 1, &err);
	}
	if (status == 0)
		(void)loop_run(loop, &err); /* returns only if the event loop has failed */
	console_line("published ports: %s", err.msg);
	return 125;
}
