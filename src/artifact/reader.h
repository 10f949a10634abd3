/* SPDX-License-Identifier: MIT */
/*
 * A reader is a child process that reads an archive from outside. Before the reader reads the first
 * byte, it gives up all rights except the use of the descriptors of its work. The reader exits when
 * the work is done. A hostile archive may have taken over the reader, so the parent checks all
 * bytes that it receives from the reader.
 */
#ifndef ARTIFACT_READER_H
#define ARTIFACT_READER_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define READER_ASKED_MAX 256

struct reader_work {
	/* Does the work in the child. The bytes that this function appends to `out` are sent to the
	 * parent. */
	int (*read)(void *data, struct buf *out, struct error *err);
	/* Runs in the parent, and does what the child asks for by reader_ask(). NULL: the child
	 * never calls reader_ask(). */
	int (*serve)(void *data, const void *asked, size_t len, struct error *err);
	void *data;
	int from; /* descriptor of the archive; -1: the archive is a file in `dir` */
	/* Descriptor of the child's working directory. The child may read and write only in and
	 * below this directory. -1: the child may not open any file. */
	int dir;
};

/* Starts a reader and waits until it exits. If a signal asks this program to end, kills the reader
 * and fails. If the reader fails, *err is the reader's error. The bytes of work->read() are
 * appended to `out`, which may be NULL if there are none. */
int reader_run(const struct reader_work *work, struct buf *out, struct error *err);

/* Called in the child: asks the parent to do something that the child has no right to do.
 * work->serve() gets the `len` bytes at `asked`; `len` is at most READER_ASKED_MAX. If serve()
 * fails, the child is killed, and reader_run() fails with the error of serve(). */
int reader_ask(const void *asked, size_t len, struct error *err);

/* Do the work of tar_has(), tar_check_files() and tar_take() in a reader, for the archive at
 * `path`. `most` is the largest number of bytes to which a compressed archive may unpack.
 * ERR_INVALID: the archive unpacks to more bytes. */
int reader_has(const char *path, uint64_t most, const char *name, struct error *err);
int reader_check_files(const char *path, uint64_t most, struct error *err);
int reader_take(const char *path, uint64_t most, const char *name, struct buf *out,
		struct error *err);

#endif
