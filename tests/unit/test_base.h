/* SPDX-License-Identifier: MIT */
/* Things that the tests of src/base share: cmocka with its prerequisites, and a directory to work
 * in. */
#ifndef TEST_BASE_H
#define TEST_BASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/path.h"

/* A scratch directory: its path and a descriptor of it. */
struct scratch {
	char path[64];
	int fd;
};

static inline int scratch_make(void **state)
{
	struct scratch *s = calloc(1, sizeof(*s));

	snprintf(s->path, sizeof(s->path), "/tmp/microagent-test-XXXXXX");
	if (!mkdtemp(s->path))
		return -1;
	s->fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	*state = s;
	return s->fd < 0 ? -1 : 0;
}

static inline int scratch_remove(void **state)
{
	struct scratch *s = *state;
	int rc = path_remove_tree_at(AT_FDCWD, s->path, NULL);

	close(s->fd);
	free(s);
	return rc;
}

/* Returns the path of a file in it, valid for the next three calls too. */
static inline const char *scratch_path(const struct scratch *s, const char *name)
{
	static char path[4][256];
	static unsigned turn;

	turn = (turn + 1) % 4;
	snprintf(path[turn], sizeof(path[0]), "%s/%s", s->path, name);
	return path[turn];
}

static inline int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

#define assert_code(err, expected) \
	assert_string_equal(error_code_name((err).code), error_code_name(expected))
#define assert_ok(call)                                     \
	do {                                                \
		if ((call) < 0)                             \
			fail_msg("%s: %s", #call, err.msg); \
	} while (0)

#endif
