/* SPDX-License-Identifier: MIT */
/* The role that executes a shell on a terminal, if the request for the terminal names no command.
 * The shell is bash if the image has it, otherwise sh. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "guest/roles.h"

static void become_shell(const char *path)
{
	const char *const argv[] = {path, "-i", "-l", NULL};

	execv(path, (char *const *)(uintptr_t)argv); /* execv() does not change the strings */
}

int role_shell(int argc, char **argv)
{
	autoclose int fd = open("/proc/self/loginuid", O_WRONLY | O_CLOEXEC);

	(void)argc;
	(void)argv;
	/* Sets the login uid, as spawn.c does for other commands. A process with a login uid is
	 * traced. The login uid is set only now, since the shell must be traced, but not this
	 * program. */
	if (fd >= 0)
		dprintf(fd, "%u", geteuid());
	become_shell("/bin/bash");
	if (errno == ENOENT || errno == ENOTDIR)
		become_shell("/bin/sh");
	fprintf(stderr, "microagent: no shell in this guest: /bin/sh: %s\n", strerror(errno));
	return errno == ENOENT || errno == ENOTDIR ? 127 : 126;
}
