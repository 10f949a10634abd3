/* SPDX-License-Identifier: MIT */
/* Things that the tests of processes share: the roles in which this program starts itself. */
#ifndef TEST_BASE_PROC_H
#define TEST_BASE_PROC_H

#include "test_base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/platform/process.h"
#include "base/proc.h"

#define SELF "/proc/self/exe"

/* Prints the open descriptors with their kinds: "0:null 1:pipe 5:file ..." */
static inline void role_list_fds(void)
{
	struct stat st, null;

	stat("/dev/null", &null);
	for (int fd = 0; fd < 1024; fd++) {
		if (fstat(fd, &st) < 0)
			continue;
		printf("%d:%s%s ", fd,
		       S_ISFIFO(st.st_mode)	    ? "pipe"
		       : st.st_rdev == null.st_rdev ? "null"
						    : "file",
		       fcntl(fd, F_GETFD) & FD_CLOEXEC ? "!" : "");
	}
}

static inline void role_status(void)
{
	char line[256];
	autofile FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "Sig", 3) || !strncmp(line, "Uid", 3) ||
		    !strncmp(line, "Gid", 3) || !strncmp(line, "Groups", 6))
			fputs(line, stdout);
	printf("session %d\n", getsid(0) == getpid());
}

/* Reads the numbered descriptors one after the other. */
static inline void role_read_fds(int argc, char **argv)
{
	char text[32];

	for (int i = 2; i < argc; i++) {
		ssize_t n = read(atoi(argv[i]), text, sizeof(text));
		printf("%s=%.*s ", argv[i], (int)(n > 0 ? n : 0), text);
	}
}

/* Holds standard output open until the end of the given descriptor, in a child, and ends. */
static inline void role_leave_child_behind(void)
{
	char c;

	printf("said before");
	fflush(stdout);
	if (fork() == 0) {
		(void)!read(9, &c, 1);
		_exit(0);
	}
	_exit(0);
}

/* Starts a child that lives as long as it or descriptor 9's peer, prints its pid, and ends at the
 * end of descriptor 8. */
static inline void role_parent(void)
{
	static const char *const argv[] = {SELF, "role:wait-9", NULL};
	static const struct proc_fd fds[] = {{9, 9}};
	struct proc_spec spec = {.argv = argv, .fds = fds, .nfds = 1, .die_with_parent = true};
	struct proc p;
	char c;

	if (proc_spawn(&spec, &p, NULL) < 0)
		_exit(1);
	(void)!write(1, "up", 2);
	close(9);
	(void)!read(8, &c, 1);
	_exit(0);
}

static inline void role_errors(size_t lines)
{
	for (size_t i = 0; i < lines; i++)
		fprintf(stderr, "line %zu\n", i);
	fputs("the last\twords\n\n", stderr);
}

static inline int run_role(int argc, char **argv)
{
	const char *role = argv[1] + strlen("role:");
	char c;

	if (!strcmp(role, "list-fds"))
		role_list_fds();
	else if (!strcmp(role, "status"))
		role_status();
	else if (!strcmp(role, "read-fds"))
		role_read_fds(argc, argv);
	else if (!strcmp(role, "leave-child"))
		role_leave_child_behind();
	else if (!strcmp(role, "parent"))
		role_parent();
	else if (!strcmp(role, "wait-9"))
		return (int)read(9, &c, 1);
	else if (!strcmp(role, "errors"))
		role_errors(argc > 2 ? strtoul(argv[2], NULL, 10) : 0);
	else if (!strcmp(role, "flood"))
		while (write(1, role, 5) > 0)
			;
	else if (!strcmp(role, "pause"))
		pause();
	else if (!strcmp(role, "env"))
		printf("%s|%s", getenv("A") ? getenv("A") : "-", getenv("HOME") ? "home" : "-");
	else if (!strcmp(role, "cwd"))
		printf("%s", getcwd((char[256]){0}, 256));
	else if (!strcmp(role, "kill"))
		raise(atoi(argv[2]));
	return argc > 2 && !strcmp(role, "exit") ? atoi(argv[2]) : !strcmp(role, "errors") ? 3 : 0;
}

/* Starts a role with its standard output into the returned descriptor. */
static inline int start_role(const struct proc_spec *wanted, const struct proc_fd *more,
			     size_t nmore, struct proc *p)
{
	struct proc_fd fds[16];
	struct proc_spec spec = *wanted;
	struct error err;
	int ends[2];

	assert_ok(fd_pipe(ends, &err));
	fds[0] = (struct proc_fd){ends[1], 1};
	if (nmore)
		memcpy(fds + 1, more, nmore * sizeof(*more));
	spec.fds = fds;
	spec.nfds = nmore + 1;
	assert_ok(proc_spawn(&spec, p, &err));
	close(ends[1]);
	return ends[0];
}

#endif
