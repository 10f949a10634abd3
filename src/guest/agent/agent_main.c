/* SPDX-License-Identifier: MIT */
/* The agent's process. This code takes the file descriptors from PID 1, sets the signal handling,
 * and connects to the host. */
#include <sys/socket.h> /* <sys/socket.h> must come first, since vm_sockets.h needs it */

#include <linux/vm_sockets.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/agent_wire.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "guest/agent/agent.h"
#include "guest/console.h"
#include "guest/roles.h"

static int init_fd = AGENT_FD_INIT;
static int link_fd = -1; /* the file descriptor of the link to the host; -1: there is no link */

struct dial {
	struct agent *agent;
	int fd;
	struct loop_watch *watch;
	/* The mux and its stream, which are used instead of `fd` if the agent connects to the host
	 * through the mux. */
	struct mux *mux;
	struct mux_stream *stream;
};

static void dial_ended(struct dial *dial, int errnum)
{
	struct error err = {0};

	loop_remove(steal_ptr(&dial->watch));
	if (errnum) {
		/* A failure does not end the agent: commands run without a control stream. For
		 * example, the host refuses a second control stream in one boot. */
		console_line("no control stream to the host: %s", strerror(errnum));
		close(steal_fd(&dial->fd));
	} else if (agent_control(dial->agent, steal_fd(&dial->fd), &err) < 0) {
		console_line("%s", err.msg);
	}
}

static void on_dialled(struct loop *loop, int fd, uint32_t events, void *data)
{
	int errnum = 0;
	socklen_t len = sizeof(errnum);

	(void)loop;
	(void)events;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &len) < 0)
		errnum = errno;
	dial_ended(data, errnum);
}

/* Connects to the host for the control stream. The agent calls this before any workload runs, so no
 * workload can connect to the control port first. */
static void dial_host(struct dial *dial)
{
	struct sockaddr_vm addr = {
		.svm_family = AF_VSOCK, .svm_cid = VMADDR_CID_HOST, .svm_port = CONTROL_PORT};

	dial->fd = socket(AF_VSOCK, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (dial->fd < 0) {
		console_line("no vsock: %s", strerror(errno));
		return;
	}
	if (connect(dial->fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		dial_ended(dial, 0);
	else if (errno != EINPROGRESS)
		dial_ended(dial, errno);
	else
		dial->watch =
			loop_add_fd(dial->agent->loop, dial->fd, LOOP_OUT, on_dialled, dial, NULL);
}

/* --- the same by a port ---------------------------------------------------------------------- */

static void on_answered(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct dial *dial = data;

	(void)loop;
	(void)fd;
	if (events & LOOP_HUP) {
		console_line("no control stream to the host: the host refused it");
		mux_carrier.close(steal_ptr(&dial->stream));
	} else {
		agent_control_carried(dial->agent, steal_ptr(&dial->stream));
	}
}

static void dial_by_mux(struct dial *dial)
{
	if (dial->stream)
		mux_carrier.close(dial->stream);
	dial->stream = mux_dial(dial->mux, CONTROL_PORT, on_answered, dial);
}

static void on_host_anew(void *data)
{
	struct dial *dial = data;

	if (agent_is_back(dial->agent))
		dial_by_mux(dial);
}

static int serve_mux(struct dial *dial, int fd, struct error *err)
{
	dial->mux = mux_open(dial->agent->loop, fd, false, err);
	if (!dial->mux)
		return -1;
	server_listen_carried(&dial->agent->server, dial->mux);
	mux_watch_host(dial->mux, on_host_anew, dial);
	dial_by_mux(dial);
	return 0;
}

/* Accepts requests on the vsock port, and also on the link to the host if there is a link. Clients
 * on the host that cannot use the link connect to the vsock port. */
static int serve_vsock(struct dial *dial, int fd, struct error *err)
{
	if (link_fd >= 0) {
		struct mux *mux = mux_open(dial->agent->loop, link_fd, true, err);

		if (!mux)
			return -1;
		server_listen_carried(&dial->agent->server, mux);
	}
	dial_host(dial);
	return server_listen(&dial->agent->server, fd, err);
}

/* --- PID 1 ----------------------------------------------------------------------------------- */

static void on_init_byte(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct agent *agent = data;
	char byte = 0;
	ssize_t n = read(fd, &byte, 1);

	(void)loop;
	(void)events;
	if (n == 1 && byte == INIT_STOPPING)
		agent_stop(agent);
	else if (n == 0)
		agent->done = true; /* PID 1 has closed its socket, and needs this agent no more */
}

/* Sets all signals to their default actions, which commands inherit. Then ignores SIGPIPE, so that
 * a write to a pipe without a reader fails and does not kill the agent. Blocks SIGTERM, which PID 1
 * sends to all processes. */
static void set_signals(void)
{
	sigset_t blocked;

	for (int i = 1; i < SIGRTMIN; i++)
		signal(i, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGHUP);
	sigaddset(&blocked, SIGINT);
	sigprocmask(SIG_SETMASK, &blocked, NULL);
}

/* Keeps the file descriptors that PID 1 has given to the agent, and closes all others. If there is
 * no link, the number AGENT_FD_LINK is free for another file descriptor. */
static int take_descriptors(struct error *err)
{
	int keep[] = {AGENT_FD_LISTEN, AGENT_FD_INIT, AGENT_FD_PROGRAM, -1};

	if (fcntl(AGENT_FD_LINK, F_GETFD) >= 0)
		keep[3] = link_fd = AGENT_FD_LINK;
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++)
		if (keep[i] >= 0 && fd_cloexec(keep[i], true, err) < 0)
			return -1;
	fd_close_others(keep, ARRAY_SIZE(keep));
	return fd_fill_standard(err);
}

static int serve_host(struct agent *agent, struct loop *loop, struct error *err)
{
	const char *etc = getenv(READER_ENVIRONMENT) ? READER_ROOT "/etc" : "/etc";
	struct dial dial = {.agent = agent, .fd = -1};
	struct stat st;
	bool is_port = fstat(AGENT_FD_LISTEN, &st) == 0 && S_ISCHR(st.st_mode);

	if (agent_init(agent, loop, &machine_real, &init_fd, etc, "/sys/fs/cgroup",
		       AGENT_FD_PROGRAM, err) < 0)
		return -1;
	if ((is_port ? serve_mux(&dial, AGENT_FD_LISTEN, err)
		     : serve_vsock(&dial, AGENT_FD_LISTEN, err)) < 0 ||
	    !loop_add_fd(loop, AGENT_FD_INIT, LOOP_IN, on_init_byte, agent, err))
		return -1;
	while (!agent->done) {
		if (loop_once(loop, -1, err) < 0)
			return -1;
		agent_settle(agent);
	}
	return 0;
}

int role_agent(int argc, char **argv)
{
	const struct sched_param none = {0};
	struct error err = {0};
	struct agent agent;
	struct loop *loop;

	(void)argc;
	(void)argv;
	/* Sets the name that ps shows. Otherwise ps would show the number of the file descriptor
	 * from which the program was executed. */
	prctl(PR_SET_NAME, "microagent");
	/* The agent must not be dumpable, and its children must not be dumpable until their
	 * execve(). Otherwise a process in a container with the same user could use pidfd_getfd(2)
	 * to copy file descriptors that the child has not closed yet. */
	prctl(PR_SET_DUMPABLE, 0);
	set_signals();
	fd_raise_limit(65536);
	/*
	 * The agent must not interrupt the command whose output it reads. On a busy processor, the
	 * policy SCHED_BATCH lets the agent run only when the command waits or has used its time
	 * slice. The agent then reads all that the command has written in one step. On an idle
	 * processor the policy changes nothing.
	 */
	if (sched_setscheduler(0, SCHED_BATCH, &none) < 0)
		console_line("the agent stays at the ordinary scheduling policy: %s",
			     strerror(errno));
	/* With this setting malloc() uses mmap() for every large block, such as a line or a file of
	 * megabytes, so that free() gives the block back to the kernel. Otherwise malloc() would
	 * raise its threshold after one large block, and would then keep large blocks for ever. */
	mallopt(M_MMAP_THRESHOLD, 131072);
	loop = take_descriptors(&err) == 0 ? loop_new(&err) : NULL;
	if (loop && serve_host(&agent, loop, &err) == 0)
		return 0;
	console_line("the agent cannot go on: %s", err.msg);
	return 125;
}
