/* SPDX-License-Identifier: MIT */
/*
 * A process is represented by a kqueue that reports its exit (EVFILT_PROC, kqueue(2)). No signal
 * can be sent by such a descriptor. So a signal is sent to the pid, after the descriptor was
 * checked for the exit of the process. For a child this is as safe as a pidfd, because the pid of a
 * child is not used again before this process reaps the child. A process that is not a child could
 * exit after the check, and its pid could be used again. This file was compiled and linked for
 * macOS, but never run there.
 */
#include "base/platform/process.h"

#include <errno.h>
#include <fcntl.h>
#include <libproc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/event.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/system.h"

/* Makes the descriptor of a process readable at once. For a process that has exited and is not
 * reaped, because kqueue does not report the exit of such a process. */
static int tell_at_once(int queue)
{
	struct kevent change;

	EV_SET(&change, 0, EVFILT_USER, EV_ADD, 0, 0, NULL);
	if (kevent(queue, &change, 1, NULL, 0, NULL) < 0)
		return -1;
	EV_SET(&change, 0, EVFILT_USER, 0, NOTE_TRIGGER, 0, NULL);
	return kevent(queue, &change, 1, NULL, 0, NULL);
}

int process_open(pid_t pid)
{
	autoclose int queue = kqueue();
	struct kevent change;
	siginfo_t info;

	if (queue < 0 || fcntl(queue, F_SETFD, FD_CLOEXEC) < 0)
		return -1;
	EV_SET(&change, pid, EVFILT_PROC, EV_ADD, NOTE_EXIT, 0, NULL);
	if (kevent(queue, &change, 1, NULL, 0, NULL) == 0)
		return steal_fd(&queue);
	if (errno != ESRCH)
		return -1;
	/* kill() does not find a process that is exiting and is not a zombie yet. If the process is
	 * a child of this process, waitid() waits until it is a zombie. */
	if (kill(pid, 0) < 0 && waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0) {
		errno = ESRCH;
		return -1;
	}
	return tell_at_once(queue) < 0 ? -1 : steal_fd(&queue);
}

int process_signal(pid_t pid, int fd, int signal)
{
	struct pollfd ended = {.fd = fd, .events = POLLIN};

	if (pid <= 0 || poll(&ended, 1, 0) != 0) {
		errno = ESRCH;
		return -1;
	}
	return kill(pid, signal);
}

int process_reap(pid_t pid, int fd, int *code)
{
	int status;
	pid_t rc;

	(void)fd;
	do
		rc = waitpid(pid, &status, 0);
	while (rc < 0 && errno == EINTR);
	if (rc < 0)
		return -1;
	*code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 0;
}

pid_t process_of(int fd)
{
	(void)fd;
	return 0;
}

/* --- this process ----------------------------------------------------------------------------- */

void process_set_name(const char *name)
{
	(void)pthread_setname_np(name);
}

int process_end_with(pid_t parent)
{
	(void)parent;
	errno = ENOTSUP;
	return -1;
}

int process_adopt_orphans(void)
{
	errno = ENOTSUP;
	return -1;
}

int process_own_program(char out[PATH_MAX])
{
	char path[PROC_PIDPATHINFO_MAXSIZE];

	if (proc_pidpath(getpid(), path, sizeof(path)) <= 0)
		return -1;
	if (snprintf(out, PATH_MAX, "%s", path) < PATH_MAX)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

/* Finds the umask from the mode of a new file. umask() cannot be used, because it would change the
 * umask for all threads. */
mode_t process_umask(void)
{
	char path[PATH_MAX];
	size_t len = confstr(_CS_DARWIN_USER_TEMP_DIR, path, sizeof(path));
	uint64_t random;
	struct stat st;

	if (len == 0 || len + 24 > sizeof(path) || random_bytes(&random, sizeof(random), NULL) < 0)
		return 077;
	snprintf(path + len - 1, sizeof(path) - len, "umask-%016llx", (unsigned long long)random);
	autoclose int fd = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0777);
	if (fd < 0)
		return 077;
	(void)unlink(path);
	return fstat(fd, &st) < 0 ? 077 : ~st.st_mode & 0777;
}
