/* SPDX-License-Identifier: MIT */
/*
 * What reads an archive that comes from outside: a child, which has given up all rights but for the
 * descriptors of its work before the first byte, and ends when that is done. Who started it judges
 * what it hands back, as if the archive itself had said it.
 */
#ifndef ARTIFACT_READER_H
#define ARTIFACT_READER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define READER_ASKED_MAX 256

struct reader_work {
	/* In the child. What it appends to out is who started it given. */
	int (*read)(void *data, struct buf *out, struct error *err);
	/* In who started it, for reader_ask(); NULL: it asks nothing. */
	int (*serve)(void *data, const void *asked, size_t len, struct error *err);
	void *data;
	int from; /* the archive; -1: it is in dir */
	/* The child's working directory, in which, and below which, it may read and write; there is
	 * no other. -1: none. */
	int dir;
};

/* Waits for its end, as long as no signal asks us to end. out: NULL where nothing is handed back.
 * The error is the child's own. */
int reader_run(const struct reader_work *work, struct buf *out, struct error *err);

/* In the child: has something done that it has no right to. */
int reader_ask(const void *asked, size_t len, struct error *err);

/* tar_has(), tar_check_files() and tar_take() of the archive at path, by a reader. most: how many bytes a compressed
 * archive may unpack to; more is ERR_INVALID. */
int reader_has(const char *path, uint64_t most, const char *name, struct error *err);
int reader_check_files(const char *path, uint64_t most, struct error *err);
int reader_take(const char *path, uint64_t most, const char *name, struct buf *out,
		struct error *err);

#endif
