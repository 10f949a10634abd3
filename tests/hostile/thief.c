/* SPDX-License-Identifier: MIT */
/*
 * A process of a container that takes descriptors from every process that appears beside it: thief
 * STOP. Prints "took NUMBER LINK" for each that is none of the standard three and no pipe, "looked
 * COUNT" when the file STOP is there, where COUNT is the processes that it saw.
 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#define DESCRIPTORS 80
#define AHEAD 8 /* numbers of processes that are tried above the last known one */

static int is_vsock(int fd)
{
	int domain = 0;
	socklen_t len = sizeof(domain);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_VSOCK;
}

static void take_from(int process, pid_t pid)
{
	char name[64], link[256];

	for (int fd = 3; fd < DESCRIPTORS; fd++) {
		int mine = (int)syscall(SYS_pidfd_getfd, process, fd, 0);
		ssize_t n;

		if (mine < 0)
			continue;
		snprintf(name, sizeof(name), "/proc/self/fd/%d", mine);
		n = readlink(name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		if (strncmp(link, "pipe:", 5) != 0)
			printf("took %d %s%s of %d\n", fd, link, is_vsock(mine) ? " (vsock)" : "",
			       (int)pid);
		close(mine);
	}
}

int main(int argc, char **argv)
{
	pid_t last = getpid(), known = last;
	long seen = 0;

	if (argc != 2)
		return 2;
	while (access(argv[1], F_OK) < 0) {
		for (pid_t pid = known + 1; pid <= last + AHEAD; pid++) {
			int process = (int)syscall(SYS_pidfd_open, pid, 0);

			if (process < 0)
				continue;
			seen += pid > last;
			last = pid > last ? pid : last;
			take_from(process, pid);
			close(process);
		}
	}
	printf("looked %ld\n", seen);
	return 0;
}
