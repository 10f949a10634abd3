/* SPDX-License-Identifier: MIT */
/*
 * A reader: a child process that reads an archive from outside. Before the first byte it gives up
 * all rights except for the descriptors of its work, and it ends when the work is done. The parent
 * checks what the reader hands back, as if the archive itself had said it.
 */
#ifndef ARTIFACT_READER_H
#define ARTIFACT_READER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define READER_ASKED_MAX 256

struct reader_work {
	/* Runs in the child. The parent gets the bytes that it appends to out. */
	int (*read)(void *data, struct buf *out, struct error *err);
	/* Runs in the parent, for reader_ask(). NULL: the child asks nothing. */
	int (*serve)(void *data, const void *asked, size_t len, struct error *err);
	void *data;
	int from; /* the archive; -1: it is in dir */
	/* The child's working directory. The child may read and write only in and below it. -1:
	 * none. */
	int dir;
};

/* Starts a reader and waits for its end. If a signal asks this program to end, the reader is killed
 * and the call fails. If the reader fails, *err is the reader's error. out may be NULL if the
 * reader hands nothing back. */
int reader_run(const struct reader_work *work, struct buf *out, struct error *err);

/* Asks the parent, from the child, to do something that the child has no right to do. */
int reader_ask(const void *asked, size_t len, struct error *err);

/* Do tar_has(), tar_check_files() and tar_take() in a reader, for the archive at path. most: how
 * many bytes a compressed archive may unpack to; more is ERR_INVALID. */
int reader_has(const char *path, uint64_t most, const char *name, struct error *err);
int reader_check_files(const char *path, uint64_t most, struct error *err);
int reader_take(const char *path, uint64_t most, const char *name, struct buf *out,
		struct error *err);

#endif
