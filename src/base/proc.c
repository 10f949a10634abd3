/* SPDX-License-Identifier: MIT */
#include "base/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/broker.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"

static void forget(struct proc *p)
{
	if (p->pidfd >= 0)
		close(p->pidfd);
	*p = (struct proc)PROC_NONE;
}

int proc_wait(struct proc *p, uint64_t deadline_ns, int *code, struct error *err)
{
	siginfo_t info = {0};
	int rc;

	if (p->pidfd < 0)
		return error_set(err, ERR_NOT_FOUND, "there is no process to wait for");
	if (fd_wait(p->pidfd, POLLIN, deadline_ns, err) < 0)
		return error_prefix(err, "process %d", (int)p->pid);
	do
		rc = waitid(P_PIDFD, (id_t)p->pidfd, &info, WEXITED);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return error_errno(err, errno, "process %d", (int)p->pid);
	*code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	forget(p);
	return 0;
}

void proc_end(struct proc *p)
{
	int code;

	if (p->pidfd < 0)
		return;
	(void)proc_kill(p->pidfd, NULL);
	if (proc_wait(p, UINT64_MAX, &code, NULL) < 0)
		forget(p);
}

int proc_adopt(struct proc *p, struct error *err)
{
	int why;

	/* Not a race: the pid stays taken until it is reaped. */
	p->pidfd = pidfd_open(p->pid, 0);
	if (p->pidfd >= 0)
		return 0;
	why = errno;
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
	return error_errno(err, why, "pidfd");
}

/* --- ended by force -------------------------------------------------------------------------- */

/* The pid behind a pidfd; 0 when it has been reaped. */
static pid_t pid_of_pidfd(int pidfd)
{
	char path[40], text[512];
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	autofile FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = '\0';
	line = strstr(text, "\nPid:");
	long pid = line ? strtol(line + strlen("\nPid:"), NULL, 10) : 0;
	return pid > 0 ? (pid_t)pid : 0;
}

/* The pid may be another's by the time that it is looked at; the pidfd then means nobody. */
static int serve_kill(void *data, const struct broker_message *in, struct broker_message *out,
		      struct error *err)
{
	const int *orphan = data;
	pid_t pid = in->nfds == 1 ? pid_of_pidfd(in->fds[0]) : 0;

	(void)out;
	if (!pid || (pid != pid_of_pidfd(*orphan) && !broker_knows(pid)))
		return error_set(err, ERR_DENIED, "that is no process of this machine");
	return proc_kill(in->fds[0], err);
}

const struct broker_duty proc_kill_duty = {serve_kill};

int proc_kill(int pidfd, struct error *err)
{
	if (broker_is_asked()) {
		const struct broker_message in = {.nfds = 1, .fds = {pidfd}};

		return broker_ask(&proc_kill_duty, &in, NULL, err);
	}
	if (pidfd_send_signal(pidfd, SIGKILL, NULL, 0) < 0)
		return error_errno(err, errno, "end a process");
	return 0;
}

int proc_signal(const struct proc *p, int signal, struct error *err)
{
	if (p->pidfd < 0)
		return error_set(err, ERR_NOT_FOUND, "there is no process to signal");
	if (pidfd_send_signal(p->pidfd, signal, NULL, 0) == 0)
		return 0;
	if (errno == ESRCH)
		return error_set(err, ERR_NOT_FOUND, "process %d has ended", (int)p->pid);
	return error_errno(err, errno, "signal %d to process %d", signal, (int)p->pid);
}

pid_t proc_parent(pid_t pid)
{
	char path[64], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	autofile FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	text[n] = '\0';
	/* "pid (any name) state ppid ...": the name may hold anything, so from the last ')'. */
	const char *end = strrchr(text, ')');
	return end && strlen(end) > 4 ? (pid_t)strtol(end + 4, NULL, 10) : 0;
}

static int read_start_time(pid_t pid, uint64_t *ticks, struct error *err)
{
	autobuf struct buf stat = BUF_INIT(4096);
	char path[32];
	const char *field;

	if (pid <= 0)
		return error_set(err, ERR_NOT_FOUND, "no process has the pid %d", (int)pid);
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (path_read_file_at(AT_FDCWD, path, &stat, err) < 0) {
		/* ESRCH: it ended between open and read */
		if (err && err->errnum == ESRCH)
			err->code = ERR_NOT_FOUND;
		return -1;
	}
	/* Field 2 is the name in brackets, which may hold blanks and brackets: count from its end.
	 */
	field = strrchr(buf_string(&stat), ')');
	for (int i = 2; field && i < 22; i++)
		if ((field = strchr(field, ' ')))
			field++;
	if (!field || *field < '0' || *field > '9')
		return error_set(err, ERR_IO, "%s: no start time in it", path);
	*ticks = strtoull(field, NULL, 10);
	return 0;
}

static int serve_start_time(void *data, const struct broker_message *in, struct broker_message *out,
			    struct error *err)
{
	uint64_t ticks;
	pid_t pid = 0;

	(void)data;
	memcpy(&pid, in->bytes, in->len == sizeof(pid) ? sizeof(pid) : 0);
	if (read_start_time(pid, &ticks, err) < 0)
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
		return read_start_time(pid, ticks, err);
	memcpy(in.bytes, &pid, sizeof(pid));
	if (broker_ask(&proc_start_time_duty, &in, &answer, err) < 0)
		return -1;
	memcpy(ticks, answer.bytes, sizeof(*ticks));
	return 0;
}

int proc_boot_id(char out[37], struct error *err)
{
	static const char path[] = "/proc/sys/kernel/random/boot_id";
	autobuf struct buf id = BUF_INIT(64);

	if (path_read_file_at(AT_FDCWD, path, &id, err) < 0)
		return -1;
	if (id.len < 36)
		return error_set(err, ERR_IO, "%s: too short", path);
	memcpy(out, buf_bytes(&id), 36);
	out[36] = '\0';
	return 0;
}
