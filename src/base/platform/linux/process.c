/* SPDX-License-Identifier: MIT */
/* Handles processes by pidfd, and reads facts about this process by prctl(). */
#include "base/platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

int process_open(pid_t pid)
{
	return pidfd_open(pid, 0);
}

int process_signal(pid_t pid, int fd, int signal)
{
	(void)pid;
	return pidfd_send_signal(fd, signal, NULL, 0);
}

int process_reap(pid_t pid, int fd, int *code)
{
	siginfo_t info = {0};
	int rc;

	(void)pid;
	do
		rc = waitid(P_PIDFD, (id_t)fd, &info, WEXITED);
	while (rc < 0 && errno == EINTR);
	if (rc == 0)
		*code = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return rc;
}

pid_t process_of(int fd)
{
	char path[40], text[512];
	const char *line;

	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", fd);
	autofile FILE *file = fopen(path, "re");
	size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
	text[n] = '\0';
	line = strstr(text, "\nPid:");
	long pid = line ? strtol(line + strlen("\nPid:"), NULL, 10) : 0;
	return pid > 0 ? (pid_t)pid : 0;
}

/* --- this process ----------------------------------------------------------------------------- */

void process_set_name(const char *name)
{
	prctl(PR_SET_NAME, name);
}

int process_end_with(pid_t parent)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -1;
	/* If the parent exited before prctl(), this process already has another parent, and would
	 * not get the signal. */
	if (getppid() != parent) {
		errno = ESRCH;
		return -1;
	}
	return 0;
}

int process_adopt_orphans(void)
{
	return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

int process_own_program(char out[PATH_MAX])
{
	ssize_t n = readlink("/proc/thread-self/exe", out, PATH_MAX - 1);

	if (n < 0)
		return -1;
	out[n] = '\0';
	return 0;
}

/* Reads the umask from /proc. umask() cannot be used, because it would change the umask for all
 * threads. Returns 077 if /proc does not show it. */
mode_t process_umask(void)
{
	static const char key[] = "\nUmask:";
	autobuf struct buf text = BUF_INIT(65536);
	const char *status = NULL, *found;

	if (path_read_file_at(AT_FDCWD, "/proc/thread-self/status", &text, NULL) == 0)
		status = buf_string(&text);
	found = status ? strstr(status, key) : NULL;
	return found ? (mode_t)strtoul(found + strlen(key), NULL, 8) & 0777 : 077;
}
