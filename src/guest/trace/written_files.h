/* SPDX-License-Identifier: MIT */
/*
 * Finds large files that were written: when a file that was open for writing is closed, its size is
 * told if it is at least LIMIT_TELEMETRY_WRITE_BYTES (fanotify). The kernel names a process and a
 * file, but not whether the process is traced. So a file counts only if kaudit has told that a
 * traced process opened it to write.
 */
#ifndef GUEST_WRITTEN_FILES_H
#define GUEST_WRITTEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define WRITTEN_PATH 4096
/* The newest files that traced processes opened, and the closed files that wait to be told. */
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
	int mounts; /* its POLLPRI means: there is another file system */
	uint64_t least;
	uint64_t lost; /* closings that were lost; the owner reads and clears it */
	struct {
		dev_t dev;
		ino_t inode;
	} opened[WRITTEN_OPENED];
	size_t next;
	struct written_file closed[WRITTEN_CLOSED];
	size_t count;
};

int written_files_begin(struct written_files *files, struct error *err);
/* Also watches file systems that were mounted since the last call. */
void written_files_mark(struct written_files *files);
/* Notes that a traced process opens the file to write. */
void written_files_opened(struct written_files *files, dev_t dev, ino_t inode);
/* Reads the closings that there are now into `closed`. Returns false if `closed` is full. */
bool written_files_read(struct written_files *files);
/* Returns true if a traced process opened the file in `closed`. */
bool written_files_is_ours(const struct written_files *files, const struct written_file *file);
void written_files_end(struct written_files *files);

#endif
