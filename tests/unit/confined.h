/* SPDX-License-Identifier: MIT */
/* Checks what a confined process can still open, and prints the first thing that is wrong. */
#ifndef CONFINED_H
#define CONFINED_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* Returns 0, or the errno of the refusal. */
static inline int opened(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* Runs in a child. */
#define HOLDS(what)                                            \
	do {                                                   \
		if (!(what)) {                                 \
			dprintf(2, "%s (%d)\n", #what, errno); \
			_exit(1);                              \
		}                                              \
	} while (0)

#endif
