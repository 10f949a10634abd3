/* SPDX-License-Identifier: MIT */
/* What a confined process can still open, and its word on the first thing that is otherwise. */
#ifndef CONFINED_H
#define CONFINED_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* 0, or the errno that kept it shut. */
static inline int opened(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_CLOEXEC, 0600);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

/* In a child. */
#define HOLDS(what)                                            \
	do {                                                   \
		if (!(what)) {                                 \
			dprintf(2, "%s (%d)\n", #what, errno); \
			_exit(1);                              \
		}                                              \
	} while (0)

#endif
