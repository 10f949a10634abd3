/* SPDX-License-Identifier: MIT */
/*
 * A reader: a child process that reads an archive which comes from outside. Before it reads the
 * first byte, the reader gives up all rights except the use of the descriptors of its work. It ends
 * when the work is done. A hostile archive may have taken over the reader, so the parent checks all
 * bytes that the reader hands back.
 */
#ifndef ARTIFACT_READER_H
#define ARTIFACT_READER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define READER_ASKED_MAX 256

struct reader_work {
	/* Does the work, in the child. The parent gets the bytes that read() appends to `out`. */
	int (*read)(void *data, struct buf *out, struct error *err);
	/* Runs in the parent, and does the work for which the child asks by reader_ask(). NULL: the
	 * child asks for nothing. */
	int (*serve)(void *data, const void *asked, size_t len, struct error *err);
	void *data;
	int from; /* descriptor of the archive; -1: the archive is in `dir` */
	/* The child's working directory. The child may read and write only in and below this
	 * directory. -1: the child may open no file. */
	int dir;
};

/* Starts a reader and waits for its end. If a signal asks this program to end, the reader is killed
 * and the call fails. If the reader fails, *err is the reader's error. `out` may be NULL if the
 * reader hands nothing back. */
int reader_run(const struct reader_work *work, struct buf *out, struct error *err);

/* Asks the parent, from the child, to do something that the child has no right to do. `asked`:
 * `len` bytes, at most READER_ASKED_MAX, which serve() gets. If serve() fails, the child is ended,
 * and reader_run() fails with the error of serve(). */
int reader_ask(const void *asked, size_t len, struct error *err);

/* Do the work of tar_has(), tar_check_files() and tar_take() in a reader, for the archive at
 * `path`. `most`: how many bytes a compressed archive may unpack to; ERR_INVALID if it unpacks to
 * more. */
int reader_has(const char *path, uint64_t most, const char *name, struct error *err);
int reader_check_files(const char *path, uint64_t most, struct error *err);
int reader_take(const char *path, uint64_t most, const char *name, struct buf *out,
		struct error *err);

#endif
