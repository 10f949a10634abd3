/* SPDX-License-Identifier: MIT */
/* Writes one file for the host, with the rights of the user whom the request names. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/fd.h"
#include "guest/roles.h"

static int make_parents(const char *path, struct error *err)
{
	autofree char *parent = strdup(path);

	if (!parent)
		return error_errno(err, ENOMEM, "%.300s", path);
	for (char *slash = strchr(parent + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(parent, 0750) < 0 && errno != EEXIST) {
			int why = errno;
			struct stat st;

			/* If the directory exists, the error of mkdir() is ignored. Some file
			 * systems report EACCES or EROFS instead of EEXIST for an existing
			 * directory. */
			if (stat(parent, &st) < 0)
				return error_errno(err, why, "%.300s", parent);
		}
		*slash = '/';
	}
	return 0;
}

static int write_from_stdin(const char *path, unsigned long long size, struct error *err)
{
	unsigned long long done = 0;
	uint8_t chunk[65536];
	struct stat st;

	if (make_parents(path, err) < 0)
		return -1;
	/* The file may be a FIFO. With O_NONBLOCK, open() does not wait for a process that reads
	 * from the FIFO. O_TRUNC is not set, because only a regular file may be truncated, and the
	 * type of the file is not known yet. */
	autoclose int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0600);
	if (fd < 0 && (errno == ENXIO || errno == EISDIR))
		return error_set(
			err, ERR_INVALID,
			"%.300s in the guest is not a regular file, so it cannot be written: name a regular file",
			path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, errno, "%.300s", path);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%.300s in the guest is not a regular file, so it cannot be written: name a regular file",
			path);
	if (ftruncate(fd, 0) < 0)
		return error_errno(err, errno, "%.300s", path);
	for (;;) {
		ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));

		if (n < 0)
			return error_errno(err, errno, "%.300s", path);
		if (n == 0)
			break;
		if (fd_write_all(fd, chunk, (size_t)n, err) < 0)
			return error_prefix(err, "%.150s", path);
		done += (unsigned long long)n;
	}
	/* Some file systems report only at close() that there was no space on their disk. */
	if (close(steal_fd(&fd)) < 0)
		return error_errno(err, errno, "%.300s", path);
	if (done != size)
		return error_set(
			err, ERR_IO,
			"%.300s in the guest is incomplete, because only %llu of its %llu bytes arrived: copy the file again",
			path, done, size);
	return 0;
}

int role_write(int argc, char **argv)
{
	struct error err = {0};

	if (argc != 3)
		return 125;
	if (write_from_stdin(argv[1], strtoull(argv[2], NULL, 10), &err) == 0)
		return 0;
	dprintf(STDERR_FILENO, "%s", err.msg);
	return 1;
}
