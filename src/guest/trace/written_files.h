/* SPDX-License-Identifier: MIT */
/*
 * Finds large files that were written. These files have at least LIMIT_TELEMETRY_WRITE_BYTES, were
 * open for writing, and are closed. The kernel reports each closing (fanotify) with the process and
 * the file, but does not say whether the process is traced. So a file counts only if kaudit has
 * reported that a traced process has opened it for writing.
 */
#ifndef GUEST_WRITTEN_FILES_H
#define GUEST_WRITTEN_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define WRITTEN_PATH 4096
/* WRITTEN_OPENED: the most files that are remembered because a traced process has opened them.
 * WRITTEN_CLOSED: the most closed files that wait to be reported. */
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
	int fd;	    /* the descriptor of fanotify; -1: nothing is watched */
	int mounts; /* a descriptor that gets POLLPRI when mounts have changed */
	uint64_t least;
	uint64_t lost; /* the number of lost events; the owner reads this number and sets it to 0 */
	struct {
		dev_t dev;
		ino_t inode;
	} opened[WRITTEN_OPENED];
	size_t next;
	struct written_file closed[WRITTEN_CLOSED];
	size_t count;
};

int written_files_begin(struct written_files *files, struct error *err);
/* Begins to watch file systems that were mounted after the last call. */
void written_files_mark(struct written_files *files);
/* Notes that a traced process has opened the file for writing. */
void written_files_opened(struct written_files *files, dev_t dev, ino_t inode);
/* Reads the events that have come, and adds the closed files to files->closed. Returns false if
 * files->closed is full. */
bool written_files_read(struct written_files *files);
/* Returns true if a traced process has opened this file for writing. `file` is an entry of
 * files->closed. */
bool written_files_is_ours(const struct written_files *files, const struct written_file *file);
void written_files_end(struct written_files *files);

#endif
