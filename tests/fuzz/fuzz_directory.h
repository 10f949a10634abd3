/* SPDX-License-Identifier: MIT */
/* A directory in memory for the files that all inputs of a run make. It is removed at the end of
 * the run. */
#ifndef FUZZ_DIRECTORY_H
#define FUZZ_DIRECTORY_H

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"

static char fuzz_base[] = "/dev/shm/microagent-fuzz-XXXXXX";

static inline void fuzz_remove_base(void)
{
	(void)path_remove_tree_at(AT_FDCWD, fuzz_base, NULL);
}

/* Returns its descriptor. The directory has a file "outside", which must stay as it is. */
static inline int fuzz_directory(void)
{
	static int fd = -1;

	if (fd >= 0)
		return fd;
	if (!mkdtemp(fuzz_base) || atexit(fuzz_remove_base) != 0)
		abort();
	fd = path_open_dir(fuzz_base, NULL);
	if (fd < 0 || path_replace_file_at(fd, "outside", "same", 4, 0600, PATH_NO_SYNC, NULL) < 0)
		abort();
	return fd;
}

static inline bool fuzz_outside_is_same(int top)
{
	struct buf text = BUF_INIT(64);
	bool same = path_read_file_at(top, "outside", &text, NULL) == 0 && text.len == 4 &&
		    memcmp(buf_bytes(&text), "same", 4) == 0;

	buf_free(&text);
	return same;
}

#endif
