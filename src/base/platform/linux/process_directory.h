/* SPDX-License-Identifier: MIT */
/* The directory of a process in /proc. Its files show the state and the descriptors of the
 * process. */
#ifndef BASE_PLATFORM_LINUX_PROCESS_DIRECTORY_H
#define BASE_PLATFORM_LINUX_PROCESS_DIRECTORY_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Opens /proc/PID of the process that pidfd stands for, and returns a descriptor; `pid` is the
 * number of the process. As soon as the process was reaped, its number may belong to another
 * process. The open directory never belongs to another process: after the process was reaped, each
 * name in it fails with ESRCH or ENOENT (proc(5)). So a caller that inspects a process opens all
 * names below this one descriptor.
 *
 * Returns -1 with ERR_NOT_FOUND if the process has ended.
 */
int process_directory(pid_t pid, int pidfd, struct error *err);
/* Returns whether the process that the pidfd stands for has ended, reaped or not. */
bool process_has_ended(int pidfd);
/* Opens a directory, like "task" or "fd", below the descriptor `directory` of process_directory(),
 * so that the caller can list it. Returns NULL with errno; ESRCH or ENOENT if the process was
 * reaped. */
DIR *process_list(int directory, const char *name);

#endif
