/* SPDX-License-Identifier: MIT */
#include "guest/job/session.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The largest number of searches of /proc. Each search kills the processes that it finds. There is
 * a limit, because a fork bomb starts new processes between two searches. */
#define LOOKS 64

/* Returns true if the process runs and belongs to the POSIX session. Reads the fields 3 (state) and
 * 6 (session) of /proc/PID/stat. */
static bool process_in_session(pid_t pid, pid_t session)
{
	char path[32], text[512];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (n <= 0)
		return false;
	text[n] = '\0';
	/* After the name in brackets the text is ") S ppid pgrp session ...". The name may contain
	 * any bytes, even brackets. */
	char *rest = strrchr(text, ')');
	if (!rest || strlen(rest) < 4)
		return false;
	char state = rest[2];
	strtol(rest + 3, &rest, 10);
	strtol(rest, &rest, 10);
	return strtol(rest, NULL, 10) == session && state != 'Z' && state != 'X';
}

/* Kills the process if it belongs to the POSIX session. Returns true if the process was killed. The
 * process could exit after the check, and another process could get its pid. So the function checks
 * again after it has opened a pidfd. */
static bool kill_if_in_session(pid_t pid, pid_t session)
{
	if (!process_in_session(pid, session))
		return false;
	autoclose int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0 || !process_in_session(pid, session))
		return false;
	return syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
}

void session_kill(pid_t session)
{
	bool found = session > 0;

	for (int i = 0; found && i < LOOKS; i++) {
		autodir DIR *proc = opendir("/proc");
		struct dirent *entry;

		found = false;
		while (proc && (entry = readdir(proc)))
			if (isdigit((unsigned char)entry->d_name[0]) &&
			    kill_if_in_session((pid_t)strtol(entry->d_name, NULL, 10), session))
				found = true;
	}
}
