/* SPDX-License-Identifier: MIT */
/* Children that keep inherited descriptors until they are told to end. */
#ifndef TESTS_UNIT_STORE_KEEPER_H
#define TESTS_UNIT_STORE_KEEPER_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>

#include "store_fixture.h"

#define LONG_NS (60 * NS_PER_S)
#define SHORT_NS (50 * NS_PER_MS)

/* Starts a child that keeps its inherited descriptors until it is told to end, or killed. */
struct child {
	pid_t pid;
	int tell;
	char file[1024]; /* what it holds a lock of */
};

static inline struct child keeper(const char *file)
{
	struct child child;
	struct error err = {0};
	int pipe_fds[2];
	char byte;

	assert_int_equal(fd_pipe(pipe_fds, &err), 0);
	child.pid = fork();
	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		close(pipe_fds[1]);
		_exit(read(pipe_fds[0], &byte, 1) < 0);
	}
	close(pipe_fds[0]);
	child.tell = pipe_fds[1];
	snprintf(child.file, sizeof(child.file), "%s", file);
	return child;
}

static inline void end(struct child *child)
{
	int status;

	/* A byte and not an end, since another keeper may have inherited this side of the pipe. A
	 * keeper that was killed does not read it. */
	signal(SIGPIPE, SIG_IGN);
	(void)!write(child->tell, "", 1);
	close(child->tell);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
}

static inline void wait_for_waiter(const struct child *child)
{
	char needle[64], line[512];
	bool waiting = false;
	struct stat st;

	/* /proc/locks marks a waiter with "->". There is no event for it. */
	assert_int_equal(stat(child->file, &st), 0);
	snprintf(needle, sizeof(needle), ":%llu 0 EOF", (unsigned long long)st.st_ino);
	while (!waiting) {
		autofile FILE *locks = fopen("/proc/locks", "r");

		while (locks && fgets(line, sizeof(line), locks))
			waiting = waiting || (strstr(line, "-> FLOCK") && strstr(line, needle));
		poll(NULL, 0, 1);
	}
}

/* Tells the last keeper to end when another process waits for it. */
static inline void *end_when_waited_for(void *data)
{
	wait_for_waiter(data);
	end(data);
	return NULL;
}

#endif
