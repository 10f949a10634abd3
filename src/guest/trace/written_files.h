/* SPDX-License-Identifier: MIT */
/*
 * Large files that were written: of a file that was open for writing and is closed, its size, where
 * that is at least LIMIT_TELEMETRY_WRITE_BYTES (fanotify). The kernel names a process and a file,
 * and not whose they are: only a file counts of which kaudit has told that a process of ours opened
 * it to write.
 */
#ifndef GUEST_WRITTEN_FILES_H
#define GUEST_WRITTEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define WRITTEN_PATH 4096
/* Files known to have been opened, the newest ones; closed ones that wait to be told. */
#define WRITTEN_OPENED 2048
#define WRITTEN_CLOSED 32

struct written_file {
	dev_t dev;
	ino_t inode;
	pid_t pid;
	uint64_t bytes;
	int64_t real_ms;
	char path[WRITTEN_PATH];
};

struct written_files {
	int fd;	    /* fanotify; -1: none */
	int mounts; /* its POLLPRI: there is another file system */
	uint64_t least;
	uint64_t lost; /* closings; the owner takes it */
	struct {
		dev_t dev;
		ino_t inode;
	} opened[WRITTEN_OPENED];
	size_t next;
	struct written_file closed[WRITTEN_CLOSED];
	size_t count;
};

int written_files_begin(struct written_files *files, struct error *err);
/* Also those of file systems that were mounted since. */
void written_files_mark(struct written_files *files);
/* A process of ours opens it to write. */
void written_files_opened(struct written_files *files, dev_t dev, ino_t inode);
/* Takes the closings that there are now into `closed`; false: that has no more room. */
bool written_files_read(struct written_files *files);
/* Of `closed`: was opened by one of ours. */
bool written_files_is_ours(const struct written_files *files, const struct written_file *file);
void written_files_end(struct written_files *files);

#endif
