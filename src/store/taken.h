/* SPDX-License-Identifier: MIT */
/*
 * Takes a disk file for a machine: its root disk or another disk. Two machines may use the same
 * file only if both only read it. A flock on the open file ensures this, also for machines of
 * different state directories. Every process that inherits the descriptor has the lock too. The
 * lock ends with the last of these processes.
 */
#ifndef STORE_TAKEN_H
#define STORE_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Takes the file. `read_only`: other machines may take the file too, if they also only read it.
 * ERR_CONFLICT (REASON_DISK_TAKEN): another machine has the file. The message names path, and the
 * workspace that has the file, if the system shows it. If no such workspace is found, the machine
 * may be ending, so the function waits at most LIMIT_ENDING_MS for its end. On a file system
 * without locks, the function succeeds and takes no lock. */
int file_take(int fd, const char *path, bool read_only, struct error *err);
/* Releases the file that file_take() has taken. The caller closes `fd` afterwards. */
void file_give_back(int fd);

/* Returns true if the title of the process is that of a live supervisor. Then also writes the path
 * of the workspace in the title, <stateDir>/<id>, to `out`. */
bool live_supervisor_is(pid_t pid, char *out, size_t size);

#endif
