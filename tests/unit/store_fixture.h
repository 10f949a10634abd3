/* SPDX-License-Identifier: MIT */
/* A state directory of its own for each test of the store, removed after the test. */
#ifndef TESTS_UNIT_STORE_FIXTURE_H
#define TESTS_UNIT_STORE_FIXTURE_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/path.h"
#include "store/store.h"

struct fixture {
	char path[64]; /* the temporary directory */
	struct state_dir dir;
	struct workspace ws; /* "agent-1", made */
};

static int fixture_make(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct error err = {0};
	char path[128];

	snprintf(f->path, sizeof(f->path), "%s/store-XXXXXX", "/tmp");
	if (!mkdtemp(f->path))
		return -1;
	snprintf(path, sizeof(path), "%s/state", f->path);
	if (state_dir_open(path, true, &f->dir, &err) < 0 ||
	    workspace_open(&f->dir, "agent-1", true, &f->ws, &err) < 0) {
		fprintf(stderr, "%s\n", err.msg);
		return -1;
	}
	*state = f;
	return 0;
}

static int fixture_drop(void **state)
{
	struct fixture *f = *state;
	struct error err = {0};

	workspace_close(&f->ws);
	state_dir_close(&f->dir);
	path_remove_tree_at(AT_FDCWD, f->path, &err);
	free(f);
	return 0;
}

/* Returns a name inside the fixture's state directory (or, with "..", beside it), valid until the
 * next call. */
static inline const char *at(const struct fixture *f, const char *name)
{
	static char path[1024];

	snprintf(path, sizeof(path), "%s/%s", f->dir.path, name);
	return path;
}

static inline void put_file(const struct fixture *f, const char *name, const char *text)
{
	autofile FILE *file = fopen(at(f, name), "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
}

static inline char *get_file(const struct fixture *f, const char *name)
{
	autofile FILE *file = fopen(at(f, name), "r");
	char *text = calloc(1, 1 << 20);

	assert_non_null(file);
	assert_true(fread(text, 1, (1 << 20) - 1, file) > 0);
	return text;
}

#define store_test(fn) cmocka_unit_test_setup_teardown(fn, fixture_make, fixture_drop)

#endif
