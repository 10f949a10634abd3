/* SPDX-License-Identifier: MIT */
/*
 * Takes (locks) a disk file for a machine: its root disk or another disk. Two machines may use the
 * same file only if both only read it. A flock on the open file ensures this, also for machines of
 * different state directories. Every process that inherits the descriptor has the lock too. The
 * kernel releases the lock when the last of these processes has exited.
 */
#ifndef STORE_TAKEN_H
#define STORE_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Takes the file. If `read_only` is true, other machines may take the file too, if they also only
 * read it. ERR_CONFLICT (REASON_DISK_TAKEN): another machine uses the file. The message names
 * `path`, and the workspace of the other machine if it was found. If that workspace was not found,
 * the other machine may just be ending, so the function first waits at most LIMIT_ENDING_MS until
 * the file is free. On a file system without locks, the function succeeds and takes no lock. */
int file_take(int fd, const char *path, bool read_only, struct error *err);
/* Releases the file that file_take() has taken. The caller closes `fd` afterwards. */
void file_give_back(int fd);

/* Returns true if the title of the process is that of a live supervisor. In that case, writes the
 * path of the workspace (<stateDir>/<id>), which is in the title, to `out`. */
bool live_supervisor_is(pid_t pid, char *out, size_t size);

#endif
