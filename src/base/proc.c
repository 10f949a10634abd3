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
	pidfd_send_signal(p->pidfd, SIGKILL, NULL, 0);
	if (proc_wait(p, UINT64_MAX, &code, NULL) < 0)
		forget(p);
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

int proc_start_time(pid_t pid, uint64_t *ticks, struct error *err)
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
