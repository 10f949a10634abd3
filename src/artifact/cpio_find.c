/* SPDX-License-Identifier: MIT */
#include "artifact/cpio_find.h"

#include <errno.h>
#include <unistd.h>

#include "base/cpio_search.h"

static int64_t read_at(void *file, uint64_t at, void *to, size_t len, struct error *err)
{
	const int *fd = file;
	ssize_t n = pread(*fd, to, len, (off_t)at);

	return n < 0 ? error_errno(err, errno, "read") : n;
}

int cpio_find(int fd, const char *name, uint64_t *at, uint64_t *size, struct error *err)
{
	return cpio_search(read_at, &fd, name, at, size, err);
}
