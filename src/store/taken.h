/* SPDX-License-Identifier: MIT */
/*
 * A file that a machine has, its root or a disk, is no other machine's that would write to it or
 * see it written. A flock on the open file says so, whatever state directory the other belongs to:
 * it goes with the descriptor to every process that has it, and ends with the last of them.
 */
#ifndef STORE_TAKEN_H
#define STORE_TAKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/* ERR_CONFLICT (REASON_DISK_TAKEN) naming path, and the workspace that has it where the system
 * tells.
 * What ends just now is waited for. read_only: several may have it, as long as all of them are. */
int file_take(int fd, const char *path, bool read_only, struct error *err);
/* Before fd is closed. */
void file_give_back(int fd);

/* Whether pid is a live supervisor, whose title says of which workspace: <stateDir>/<id>. */
bool live_supervisor_is(pid_t pid, char *out, size_t size);

#endif
