/* SPDX-License-Identifier: MIT */
/*
 * Freezes a file system. A file system stays frozen even if the process that has frozen it exits,
 * and every process that writes to the file system then hangs. So a child process freezes and thaws
 * the file system. This child is called the keeper. The keeper leaves the cgroup and the POSIX
 * session of the command, so that it is not killed together with the command when the client
 * disconnects.
 *
 * The keeper thaws the file system when its parent closes the pipe to the keeper, and at the latest
 * after LIMIT_FREEZE_MS milliseconds. While the file system is frozen, the keeper uses no file, and
 * its memory is locked, so that the keeper itself cannot hang.
 */
#include "guest/files/freeze.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"

/* The bytes that the child process, which is called the keeper, sends to its parent. */
enum { KEEPER_FROZEN = 'f', KEEPER_THAWED = 't', KEEPER_LATE = 'l', KEEPER_FAILED = 'e' };

static void say_byte(int fd, char what)
{
	while (write(fd, &what, 1) < 0 && errno == EINTR)
		;
}

static void keep_frozen(int fs, int told, int tell)
{
	uint64_t deadline;
	bool late;
	int cgroup;

	setsid();
	/* If this process cannot leave the command's cgroup, it can be killed before it thaws the
	 * file system. The file system then stays frozen until the host ends the session. */
	cgroup = open("/sys/fs/cgroup/cgroup.procs", O_WRONLY | O_CLOEXEC);
	if (cgroup >= 0)
		(void)!write(cgroup, "0", 1);
	cleanup_close(&cgroup);
	mlockall(MCL_CURRENT);
	deadline = limit_deadline(LIMIT_FREEZE_MS);
	if (ioctl(fs, FIFREEZE, 0) < 0) {
		say_byte(tell, KEEPER_FAILED);
		_exit(1);
	}
	say_byte(tell, KEEPER_FROZEN);
	late = fd_wait(told, POLLIN, deadline, NULL) < 0;
	ioctl(fs, FITHAW, 0);
	say_byte(tell, late ? KEEPER_LATE : KEEPER_THAWED);
	_exit(0);
}

/* Returns the next byte that the child process (the keeper) has sent. Returns KEEPER_FAILED if the
 * child has exited without sending a byte. */
static char hear_byte(int fd)
{
	char what = KEEPER_FAILED;

	while (read(fd, &what, 1) < 0 && errno == EINTR)
		;
	return what;
}

static int start_keeper(int fs, int *tell, int *told, struct error *err)
{
	int down[2], up[2];
	pid_t pid;

	if (fd_pipe(down, err) < 0 || fd_pipe(up, err) < 0)
		return -1;
	pid = fork();
	if (pid < 0)
		return error_errno(err, errno, "fork");
	if (pid == 0) {
		/* The child must close its copies of the command's stdin, stdout and stderr.
		 * Otherwise the agent would wait for the child before it reports the end of the
		 * command. */
		int null = open("/dev/null", O_RDWR);

		for (int i = 0; i < 3; i++)
			dup2(null, i);
		close(down[1]);
		close(up[0]);
		keep_frozen(fs, down[0], up[1]);
	}
	close(down[0]);
	close(up[1]);
	*tell = down[1];
	*told = up[0];
	return 0;
}

int freeze_until_told(char **words, struct error *err)
{
	autoclose int fs = open(words[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autoclose int told = -1;
	int tell = -1;
	char what, byte;
	ssize_t n;

	if (fs < 0 || syncfs(fs) < 0)
		return error_errno(err, errno, "%s", words[0]);
	if (start_keeper(fs, &tell, &told, err) < 0)
		return -1;
	what = hear_byte(told);
	if (what != KEEPER_FROZEN) {
		close(tell);
		return error_set(
			err, ERR_IO,
			"the guest's file system on %s cannot be frozen, so it is not copied: stop the workspace and copy it then",
			words[0]);
	}
	(void)fd_write_all(STDOUT_FILENO, "frozen\n", 7, NULL);
	do
		n = read(STDIN_FILENO, &byte, 1);
	while (n > 0 || (n < 0 && errno == EINTR));
	close(tell);
	if (hear_byte(told) == KEEPER_THAWED)
		return 0;
	return error_set(
		err, ERR_TIMEOUT,
		"the guest's file system on %s was thawed after the limit of %llu ms, before it was copied: stop the workspace and copy it then",
		words[0], (unsigned long long)limit_get(LIMIT_FREEZE_MS));
}
