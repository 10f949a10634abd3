/* SPDX-License-Identifier: MIT */
/*
 * Kills a command at each of its steps: before the Nth call that changes a file, with all of the
 * processes that it has started except machines, which live on. The calls of all of them are
 * counted in one file. The program's own functions stand in front of libc's, so that its stand-ins
 * for other programs count too.
 */
#ifndef SESSION_KILLING_H
#define SESSION_KILLING_H

#include <sys/syscall.h>

#include "session_fixture.h"

/* Asked once, since a live supervisor is killed for asking after it has given up its rights. */
static bool is_of_command(void)
{
	static int is = -1;
	const char *group = getenv("KILLING_GROUP");

	if (is < 0 && group)
		is = getpgrp() == atoi(group);
	return is > 0;
}

static void step(void)
{
	const char *steps = getenv("KILLING_STEPS"), *last = getenv("KILLING_AT");
	struct stat st = {0};
	int fd;

	if (!steps || !last || !is_of_command())
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, steps, O_WRONLY | O_APPEND | O_CREAT, 0600);
	syscall(SYS_write, fd, ".", 1);
	fstat(fd, &st);
	close(fd);
	if (st.st_size == atoi(last)) {
		kill(0, SIGKILL);
		pause();
	}
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	step();
	return (int)syscall(SYS_mkdirat, dir, path, mode);
}

int unlinkat(int dir, const char *path, int flags)
{
	step();
	return (int)syscall(SYS_unlinkat, dir, path, flags);
}

int flock(int fd, int operation)
{
	step();
	return (int)syscall(SYS_flock, fd, operation);
}

int ftruncate(int fd, off_t size)
{
	step();
	return (int)syscall(SYS_ftruncate, fd, size);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
	step();
	return (int)syscall(SYS_linkat, from, path, to, name, flags);
}

int renameat(int from, const char *path, int to, const char *name)
{
	step();
	return (int)syscall(SYS_renameat2, from, path, to, name, 0);
}

int renameat2(int from, const char *path, int to, const char *name, unsigned flags)
{
	step();
	return (int)syscall(SYS_renameat2, from, path, to, name, flags);
}

ssize_t write(int fd, const void *bytes, size_t len)
{
	struct stat st;

	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		step();
	return syscall(SYS_write, fd, bytes, len);
}

/* Like run_apart(). A process with a group of its own, such as a supervisor in the foreground, is
 * killed alone if the step is its own. */
static inline int run_to(const struct rig *rig, int at_step, rig_fn *fn, void *data)
{
	char steps[96], number[16];
	int code;

	snprintf(steps, sizeof(steps), "%s/steps", rig->root);
	snprintf(number, sizeof(number), "%d", at_step);
	unlink(steps);
	setenv("KILLING_STEPS", steps, 1);
	setenv("KILLING_AT", number, 1);
	code = run_apart(rig, fn, data);
	unsetenv("KILLING_STEPS");
	unsetenv("KILLING_AT");
	return code;
}

/* Returns true if it was killed before that step. Returns false if it came to its end first, and
 * ended well. */
static bool killed_at(const struct rig *rig, int at_step, rig_fn *fn, void *data)
{
	int code = run_to(rig, at_step, fn, data);

	if (code > 0)
		fail_msg("step %d: it failed", at_step);
	return code < 0;
}

#endif
