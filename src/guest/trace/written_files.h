/* SPDX-License-Identifier: MIT */
/*
 * Finds large files that were written. Such a file has at least LIMIT_TELEMETRY_WRITE_BYTES bytes,
 * was open for writing, and was closed. When a written file is closed, the kernel reports the
 * process and the file (fanotify), but not whether the process is traced. So a file is reported
 * only if the kernel's audit has recorded that a traced process has opened it for writing.
 */
#ifndef GUEST_WRITTEN_FILES_H
#define GUEST_WRITTEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define WRITTEN_PATH 4096
/* WRITTEN_OPENED: how many files that a traced process has opened are remembered, at most.
 * WRITTEN_CLOSED: how many closed files may wait to be reported, at most. */
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
	int fd;	    /* the file descriptor of fanotify; -1: no file is watched */
	int mounts; /* a file descriptor that gets POLLPRI when mounts have changed */
	uint64_t least;
	uint64_t lost; /* how many events were lost; the caller reads it and sets it to 0 */
	struct {
		dev_t dev;
		ino_t inode;
	} opened[WRITTEN_OPENED];
	size_t next;
	struct written_file closed[WRITTEN_CLOSED];
	size_t count;
};

int written_files_begin(struct written_files *files, struct error *err);
/* Begins to watch the file systems that were mounted after the last call. */
void written_files_mark(struct written_files *files);
/* Remembers that a traced process has opened the file for writing. */
void written_files_opened(struct written_files *files, dev_t dev, ino_t inode);
/* Reads the events that have come, and adds the closed files to files->closed. Returns false if
 * files->closed is full, so that events may be left. */
bool written_files_read(struct written_files *files);
/* Returns true if a traced process has opened this file for writing. `file` is an entry of
 * files->closed. */
bool written_files_is_ours(const struct written_files *files, const struct written_file *file);
void written_files_end(struct written_files *files);

#endif
