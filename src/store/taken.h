/* SPDX-License-Identifier: MIT */
/*
 * Taking the file of a machine, which is its root or a disk. No other machine may use that file if
 * one of the two would write to it. A flock on the open file ensures this across all state
 * directories. The lock goes with the descriptor to every process that has the descriptor, and ends
 * with the last of these processes.
 */
#ifndef STORE_TAKEN_H
#define STORE_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* Takes the file. ERR_CONFLICT (REASON_DISK_TAKEN): another machine has the file. The message names
 * path, and the workspace that has the file if the system tells it. If that machine is just ending,
 * the function waits for its end. read_only: several machines may have the file, as long as all of
 * them only read it. */
int file_take(int fd, const char *path, bool read_only, struct error *err);
/* Gives the file back. It is called before fd is closed. */
void file_give_back(int fd);

/* Returns whether pid is a live supervisor. Writes the workspace in the process's title to out:
 * <stateDir>/<id>. */
bool live_supervisor_is(pid_t pid, char *out, size_t size);

#endif
