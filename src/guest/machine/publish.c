/* SPDX-License-Identifier: MIT */
#include "guest/machine/publish.h"

#include <sys/socket.h> /* <sys/socket.h> must come first, since vm_sockets.h needs it */

#include <linux/vm_sockets.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "base/proc.h"
#include "guest/agent/config.h"
#include "guest/console.h"
#include "guest/roles.h"

struct publish {
	struct loop *loop;
	int program_fd;
	struct proc proc;
	unsigned restarts;
	size_t count;
	struct {
		uint16_t port;
		char text[8];
		int fd;
	} ports[];
};

static int listen_on_port(uint16_t port, struct error *err)
{
	struct sockaddr_vm addr = {.svm_family = AF_VSOCK,
				   .svm_cid = VMADDR_CID_ANY,
				   .svm_port = PUBLISH_PORT_FIRST + port};
	autoclose int fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	/* Vsock resets a connection for which the backlog has no room, and unlike with TCP, the
	 * client's kernel does not try again. So the backlog is as long as possible. */
	if (fd < 0 || bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
	    listen(fd, SOMAXCONN) < 0)
		return error_errno(err, errno, "cannot listen on vsock port %u", addr.svm_port);
	return steal_fd(&fd);
}

/* Gives the listening sockets the file descriptors from PUBLISH_FD_FIRST on. Returns a file
 * descriptor of this program's file, or -1. All other file descriptors have the flag
 * close-on-exec. */
static int place_sockets(const struct publish *p)
{
	int above = PUBLISH_FD_FIRST + (int)p->count;
	int program = fcntl(p->program_fd, F_DUPFD_CLOEXEC, above);
	int high[p->count + 1];

	for (size_t i = 0; i < p->count; i++) {
		high[i] = fcntl(p->ports[i].fd, F_DUPFD_CLOEXEC, above);
		if (high[i] < 0)
			return -1;
	}
	for (size_t i = 0; i < p->count; i++)
		if (dup2(high[i], PUBLISH_FD_FIRST + (int)i) < 0)
			return -1;
	return program;
}

static void become_publisher(struct publish *p)
{
	char *argv[p->count + 2];
	int program = place_sockets(p);
	sigset_t none;

	argv[0] = (char[]){ROLE_PUBLISH};
	for (size_t i = 0; i < p->count; i++)
		argv[i + 1] = p->ports[i].text;
	argv[p->count + 1] = NULL;
	setsid();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (program >= 0)
		syscall(SYS_execveat, program, "", argv, environ, AT_EMPTY_PATH);
	console_line("published ports: %m");
	_exit(125);
}

static void on_publisher_ended(struct loop *loop, int code, void *data);

static int start_publisher(struct publish *p, struct error *err)
{
	pid_t pid = fork();

	if (pid < 0)
		return error_errno(err, errno, "cannot start a process");
	if (pid == 0)
		become_publisher(p);
	p->proc = (struct proc){.pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0)};
	if (p->proc.pidfd < 0)
		return error_errno(err, errno, "pidfd");
	return loop_add_proc(p->loop, &p->proc, on_publisher_ended, p, err) ? 0 : -1;
}

/* Called when the publisher's process has exited. Starts the process again, but only a limited
 * number of times. If SIGTERM has killed the process, the machine is ending, so no new process is
 * started. */
static void on_publisher_ended(struct loop *loop, int code, void *data)
{
	struct publish *p = data;
	struct error err;

	(void)loop;
	if (code == 128 + SIGTERM)
		return;
	console_line("published ports: their process ended with %d", code);
	if (p->restarts++ < limit_get(LIMIT_AGENT_RESTARTS) && start_publisher(p, &err) < 0)
		console_line("published ports: %s", err.msg);
}

static bool port_is_listed(const struct publish *p, uint16_t port)
{
	for (size_t i = 0; i < p->count; i++)
		if (p->ports[i].port == port)
			return true;
	return false;
}

/* Listens on the guest port of `item`, an entry of the config's list. Several ports of the host may
 * lead to one guest port, so a guest port may be in the list more than once. */
static int add_port(struct publish *p, json_t *item, struct error *err)
{
	struct error why = {0};
	uint16_t port;
	int fd;

	if (config_publish_decode(item, &port, err) < 0)
		return -1;
	if (port_is_listed(p, port))
		return 0;
	fd = listen_on_port(port, &why);
	if (fd < 0) /* EADDRINUSE: the port is published already */
		return why.errnum == EADDRINUSE ? 0 : error_copy(err, &why);
	p->ports[p->count].port = port;
	p->ports[p->count].fd = fd;
	snprintf(p->ports[p->count].text, sizeof(p->ports[0].text), "%u", port);
	p->count++;
	return 0;
}

static void publish_free(struct publish *p)
{
	for (size_t i = 0; i < p->count; i++)
		close(p->ports[i].fd);
	free(p);
}

int publish_start(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		  struct error *err)
{
	struct publish *p;

	if (mux)
		return publish_carried(loop, mux, publishes, err);
	p = calloc(1, sizeof(*p) + json_array_size(publishes) * sizeof(p->ports[0]));
	if (!p)
		return error_errno(err, ENOMEM, "memory");
	p->loop = loop;
	p->program_fd = program_fd;
	for (size_t i = 0; i < json_array_size(publishes); i++) {
		if (add_port(p, json_array_get(publishes, i), err) < 0) {
			publish_free(p);
			return -1;
		}
	}
	if (p->count == 0 || start_publisher(p, err) < 0) {
		int status = p->count == 0 ? 0 : -1;

		publish_free(p);
		return status;
	}
	return 0;
}
