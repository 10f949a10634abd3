/* SPDX-License-Identifier: MIT */
#include "oci/standin.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/platform/process.h"
#include "base/proc.h"
#include "oci/standin_impl.h"

#define REPORT_MAX 4096

/* --- in the child ---------------------------------------------------------------------------- */

struct child {
	const struct standin_spec *spec;
	int program, ticket, channel;
	/* the write end of a pipe; it is closed when the child has entered its namespaces */
	int in_place;
};

/* Enters the namespaces of `spec`. Mounts that the host makes later become visible in this process.
 * Mounts that this process makes do not become visible on the host. */
static int enter_surroundings(const struct standin_spec *spec)
{
	if (spec->network >= 0 && setns(spec->network, CLONE_NEWNET) < 0)
		return -1;
	if (spec->within >= 0 && setns(spec->within, CLONE_NEWNET) < 0)
		return -1;
	if (spec->own_network) {
		/* Brings up the loopback, which is down in a new network namespace. */
		autoclose int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING};

		if (fd >= 0)
			(void)ioctl(fd, SIOCSIFFLAGS, &request);
	}
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return -1;
	return setsid() < 0 || chdir("/") < 0 ? -1 : 0;
}

/* Gives the descriptors their final numbers, from 0. First copies all of them to higher numbers, so
 * that no copy overwrites a descriptor that is still needed. */
static int number_descriptors(struct child *c)
{
	int from[STANDIN_FD_END], program;

	for (int i = 0; i < 3; i++)
		from[i] = c->spec->fds[i];
	from[STANDIN_FD_TICKET] = c->ticket;
	from[STANDIN_FD_CHANNEL] = c->channel;
	program = fcntl(c->program, F_DUPFD_CLOEXEC, STANDIN_FD_END);
	for (int i = 0; i < STANDIN_FD_END; i++)
		if ((from[i] = fcntl(from[i], F_DUPFD, STANDIN_FD_END)) < 0)
			return -1;
	for (int i = 0; i < STANDIN_FD_END; i++)
		if (dup2(from[i], i) < 0)
			return -1;
	c->program = program;
	/* Makes all other descriptors close at exec. If the child kept a copy of the engine's pipe,
	 * the engine would wait for ever. */
	syscall(SYS_close_range, STANDIN_FD_END, ~0u, CLOSE_RANGE_CLOEXEC);
	return program;
}

static void become_standin(struct child *c) __attribute__((noreturn));
static void become_standin(struct child *c)
{
	char title[256];
	char *const argv[] = {title, NULL};
	sigset_t none;

	snprintf(title, sizeof(title), "%s%.200s", c->spec->title, c->spec->id);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	/* Enters the namespaces first: number_descriptors() could overwrite the descriptors of the
	 * namespaces. */
	if (enter_surroundings(c->spec) < 0)
		_exit(127);
	close(c->in_place);
	if (number_descriptors(c) < 0 || (c->spec->terminal && ioctl(0, TIOCSCTTY, 0) < 0))
		_exit(127);
	syscall(SYS_execveat, c->program, "", argv, environ, AT_EMPTY_PATH);
	_exit(127);
}

/* --- in the parent --------------------------------------------------------------------------- */

static pid_t clone_standin(const struct standin_spec *spec, uint64_t parent, int *pidfd)
{
	struct clone_args args = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_PIDFD | parent |
			 (spec->own_network ? CLONE_NEWNET : 0),
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		/* with CLONE_PARENT the kernel uses the exit signal of this process */
		.exit_signal = parent ? 0 : SIGCHLD,
	};

	return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* Makes a child in a new pid namespace below the keeper's pid namespace. Only a process inside the
 * keeper's pid namespace can do this, so this process is a helper that the parent has started
 * there. The child becomes a child of the helper's parent (CLONE_PARENT). Returns 0 in the child.
 * The helper exits. */
static pid_t clone_below(const struct standin_spec *spec, int tell)
{
	int pidfd = -1;
	pid_t pid = clone_standin(spec, CLONE_PARENT, &pidfd);
	char done = pid < 0 ? (char)errno : 0;

	if (pid == 0)
		return 0;
	(void)fd_send_passing(tell, &done, 1, &pidfd, pidfd >= 0, 0);
	_exit(0);
}

static pid_t hear_of_child(int told, int *pidfd)
{
	size_t nfds = 1;
	char why = 0;

	if (fd_receive_passed(told, &why, 1, pidfd, &nfds, 0) != 1 || nfds != 1) {
		errno = why ? why : EIO;
		return -1;
	}
	return process_of(*pidfd);
}

/* Makes a child in a new pid namespace below the keeper's pid namespace, by a helper
 * (clone_below()). Between the two calls of setns(), every child of this process is started in the
 * keeper's pid namespace. The helper is the only such child, since this process has one thread. */
static pid_t clone_within(const struct standin_spec *spec, int *pidfd)
{
	autoclose int own = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
	int ends[2], status;
	pid_t helper;

	if (own < 0 || fd_socketpair(ends, NULL) < 0)
		return -1;
	autoclose int told = ends[0], tell = ends[1];
	if (setns(spec->within, CLONE_NEWPID) < 0)
		return -1;
	helper = fork();
	if (helper == 0)
		return clone_below(spec, tell);
	if (setns(own, CLONE_NEWPID) < 0)
		abort(); /* later children would all be in the keeper's pid namespace */
	if (helper < 0)
		return -1;
	close(steal_fd(&tell));
	pid_t pid = hear_of_child(told, pidfd);
	int why = errno;
	(void)waitpid(helper, &status, 0);
	errno = why;
	return pid;
}

int standin_start(const struct standin_spec *spec, struct standin *out, struct error *err)
{
	struct child child = {.spec = spec};
	int ends[2], place[2], pidfd = -1;
	char none;
	pid_t pid;

	autofree char *text = json_line(spec->ticket, err);
	autoclose int ticket = text ? fd_memfd("ticket", text, strlen(text), err) : -1;
	autoclose int program = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	if (ticket < 0 || program < 0 || fd_socketpair(ends, err) < 0)
		return ticket < 0 || program >= 0 ? -1 : error_errno(err, errno, "/proc/self/exe");
	autoclose int ours = ends[0], theirs = ends[1];
	child.program = program;
	child.ticket = ticket;
	child.channel = theirs;
	if (pipe2(place, O_CLOEXEC) < 0)
		return error_errno(err, errno, "pipe");
	autoclose int told = place[0], in_place = place[1];
	child.in_place = in_place;
	pid = spec->within >= 0 ? clone_within(spec, &pidfd) : clone_standin(spec, 0, &pidfd);
	if (pid == 0)
		become_standin(&child);
	if (pid < 0)
		return error_errno(err, errno, "namespaces of the container's process");
	close(steal_fd(&in_place));
	/* Waits until the child has entered its namespaces, or has ended. Other processes find the
	 * child's network by the child's pid: hooks, the next container of a pod, and a keeper's
	 * stand-in. */
	while (read(told, &none, 1) < 0 && errno == EINTR)
		;
	*out = (struct standin){.pid = pid, .pidfd = pidfd, .channel = steal_fd(&ours)};
	return 0;
}

/* Sends the message that lets the stand-in go on. The message has the stand-in's pid on the host,
 * which the stand-in itself cannot find out. */
int standin_go(struct standin *standin, int with, struct error *err)
{
	int32_t pid = (int32_t)standin->pid;

	if (fd_send_passing(standin->channel, &pid, sizeof(pid), &with, with >= 0, 0) !=
	    sizeof(pid))
		return error_errno(err, errno, "the container's process");
	return 0;
}

int standin_hear(struct standin *standin, struct error *err)
{
	char text[REPORT_MAX];
	size_t len = 0;
	ssize_t n;

	do {
		n = read(standin->channel, text + len, sizeof(text) - len);
		len += n > 0 ? (size_t)n : 0;
	} while ((n > 0 && len < sizeof(text)) || (n < 0 && errno == EINTR));
	if (len == 0)
		return error_set(
			err, ERR_IO,
			"the container's process has ended before the container was made: create the container again");
	json_auto_t *report = json_load_strict(text, len, err);
	if (!report)
		return -1;
	return json_is_true(json_object_get(report, "ok"))
		       ? 0
		       : json_get_error(report, "no reason given", err);
}

void standin_close(struct standin *standin)
{
	cleanup_close(&standin->pidfd);
	cleanup_close(&standin->channel);
	*standin = (struct standin)STANDIN_NONE;
}

int standin_hold_signals(struct error *err)
{
	/* The signals that are not passed on: signals about this process itself, and signals by
	 * which a shell stops it. */
	static const int ours[] = {SIGCHLD, SIGPIPE, SIGURG, SIGTSTP, SIGTTIN, SIGTTOU,
				   SIGSEGV, SIGBUS,  SIGFPE, SIGILL,  SIGABRT};
	sigset_t set;
	int fd;

	sigfillset(&set);
	for (size_t i = 0; i < ARRAY_SIZE(ours); i++)
		sigdelset(&set, ours[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd >= 0 ? fd : error_errno(err, errno, "signals");
}

int standin_await(const struct standin *standin, int signals, struct error *err)
{
	struct pollfd slots[2] = {{.fd = standin->pidfd, .events = POLLIN},
				  {.fd = signals, .events = POLLIN}};
	struct signalfd_siginfo info;
	int status = 0;

	while (!slots[0].revents) {
		if (poll(slots, ARRAY_SIZE(slots), -1) < 0 && errno != EINTR)
			return error_errno(err, errno, "the container's process");
		while (read(signals, &info, sizeof(info)) == sizeof(info))
			(void)syscall(SYS_pidfd_send_signal, standin->pidfd, (int)info.ssi_signo,
				      NULL, 0);
	}
	if (waitpid(standin->pid, &status, 0) < 0)
		return error_errno(err, errno, "the container's process");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void standin_release(struct standin *keeper)
{
	/* A keeper that still waits for standin_go() ends when this channel is closed. */
	cleanup_close(&keeper->channel);
	if (keeper->pid > 0)
		(void)fd_wait(keeper->pidfd, POLLIN, limit_deadline(LIMIT_KILL_MS), NULL);
	standin_end(keeper);
}

void standin_end(struct standin *standin)
{
	struct proc proc = {.pid = standin->pid, .pidfd = standin->pidfd};

	if (standin->pid > 0)
		proc_end(&proc);
	standin->pidfd = -1;
	standin_close(standin);
}
