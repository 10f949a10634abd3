/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/platform/process.h"

static void forget(struct proc *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	*p = (struct proc)PROC_NONE;
}

int proc_wait(struct proc *p, uint64_t deadline_ns, int *code, struct error *err)
{
	if (p->pidfd < 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"there is no process to wait for, because it was never started, or its end was reported already: this is a bug of microagent");
	if (fd_wait(p->pidfd, POLLIN, deadline_ns, err) < 0)
		return error_prefix(err, "process %d", (int)p->pid);
	if (process_reap(p->pid, p->pidfd, code) < 0)
		return error_errno(err, errno, "process %d", (int)p->pid);
	forget(p);
	return 0;
}

void proc_end(struct proc *p)
{
	int code;

	if (p->pidfd < 0)
		return;
	(void)proc_kill(p, NULL);
	if (proc_wait(p, UINT64_MAX, &code, NULL) < 0)
		forget(p);
}

int proc_adopt(struct proc *p, struct error *err)
{
	int why;

	/* The pid of a child cannot pass to another process before the child is reaped. */
	p->pidfd = process_open(p->pid);
	if (p->pidfd >= 0)
		return 0;
	why = errno;
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	return error_errno(err, why, "pidfd");
}

/* --- killing ---------------------------------------------------------------------------------- */

/* Serves proc_kill_duty. The process may exit before the check, and its pid may pass to another
 * process. Such a race does no harm: the signal is sent through the pidfd, which then refers to no
 * process. */
static int serve_kill(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	const int *orphan = data;
	pid_t pid = in->nfds == 1 ? process_of(in->fds[0]) : 0;

	(void)out;
	if (!pid || (pid != process_of(*orphan) && !broker_knows(pid)))
		return error_set(
			err, ERR_DENIED,
			"the broker refuses the request, because this process does not belong to the machine: this is a bug, or the live supervisor was taken over");
	return proc_kill(&(struct proc){.pid = pid, .pidfd = in->fds[0]}, err);
}

const struct broker_duty proc_kill_duty = {serve_kill};

int proc_kill(const struct proc *p, struct error *err)
{
	if (broker_is_asked()) {
		const struct broker_message in = {.nfds = 1, .fds = {p->pidfd}};

		return broker_ask(&proc_kill_duty, &in, NULL, err);
	}
	if (process_signal(p->pid, p->pidfd, SIGKILL) < 0)
		return error_errno(err, errno, "end a process");
	return 0;
}

int proc_signal(const struct proc *p, int signal, struct error *err)
{
	if (p->pidfd < 0)
		return error_set(
			err, ERR_NOT_FOUND,
			"there is no process to signal, because it was never started, or its end was reported already: this is a bug of microagent");
	if (process_signal(p->pid, p->pidfd, signal) == 0)
		return 0;
	if (errno == ESRCH)
		return error_set(err, ERR_NOT_FOUND, "process %d has ended", (int)p->pid);
	return error_errno(err, errno, "signal %d to process %d", signal, (int)p->pid);
}

int proc_hold(pid_t pid, struct proc *out, struct error *err)
{
	int held = process_open(pid);

	if (held < 0 && errno == ESRCH)
		return error_set(err, ERR_NOT_FOUND, "process %d has ended", (int)pid);
	if (held < 0)
		return error_errno(err, errno, "process %d", (int)pid);
	*out = (struct proc){.pid = pid, .pidfd = held};
	return 0;
}

void proc_let_go(struct proc *p)
{
	forget(p);
}

/* Serves proc_start_time_duty. Answers only for processes of the machine. An attacker who controls
 * the client of the broker could otherwise record another process, with its start time, as a
 * process of the machine. */
static int serve_start_time(void *data, const struct broker_message *in, struct broker_message *out,
			    struct error *err)
{
	uint64_t ticks;
	pid_t pid = 0;

	(void)data;
	memcpy(&pid, in->bytes, in->len == sizeof(pid) ? sizeof(pid) : 0);
	if (pid != getpid() && pid != broker_asker() && !broker_knows(pid))
		return error_set(
			err, ERR_DENIED,
			"the broker refuses the request, because this process does not belong to the machine: this is a bug, or the live supervisor was taken over");
	if (process_start_time(pid, &ticks, err) < 0)
		return -1;
	memcpy(out->bytes, &ticks, sizeof(ticks));
	out->len = sizeof(ticks);
	return 0;
}

const struct broker_duty proc_start_time_duty = {serve_start_time};

int proc_start_time(pid_t pid, uint64_t *ticks, struct error *err)
{
	struct broker_message in = {.len = sizeof(pid)}, answer;

	if (!broker_is_asked())
		return process_start_time(pid, ticks, err);
	memcpy(in.bytes, &pid, sizeof(pid));
	if (broker_ask(&proc_start_time_duty, &in, &answer, err) < 0)
		return -1;
	memcpy(ticks, answer.bytes, sizeof(*ticks));
	return 0;
}
