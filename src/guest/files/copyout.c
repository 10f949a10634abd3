/* SPDX-License-Identifier: MIT */
/* Reads one file for the host, with the rights of the user whom the request names. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/limits.h"
#include "guest/roles.h"

static int copy_to_stdout(const char *path, struct error *err)
{
	uint64_t limit = limit_get(LIMIT_COPYOUT_BYTES);
	uint8_t chunk[65536];
	struct stat st;

	/* The file may be a FIFO. With O_NONBLOCK, open() does not wait for a process that writes
	 * to the FIFO. */
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%.300s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%.300s in the guest is not a regular file, so it cannot be copied: name a regular file",
			path);
	if ((uint64_t)st.st_size > limit)
		return error_set(
			err, ERR_INVALID,
			"%.300s in the guest has %lld bytes, and copyout returns at most %llu: run a command that writes the file to its stdout",
			path, (long long)st.st_size, (unsigned long long)limit);
	/* A file of /proc can be longer than its size in stat(), so this process does not check the
	 * length. The agent reads the output of this process up to a limit. */
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0)
			return error_errno(err, errno, "%.300s", path);
		if (n == 0)
			return 0;
		if (fd_write_all(STDOUT_FILENO, chunk, (size_t)n, err) < 0)
			return -1;
	}
}

int role_copyout(int argc, char **argv)
{
	struct error err = {0};

	if (argc != 2)
		return 125;
	if (copy_to_stdout(argv[1], &err) == 0)
		return 0;
	dprintf(STDERR_FILENO, "%s", err.msg);
	return 1;
}
