/* SPDX-License-Identifier: MIT */
/* The directory of a process in /proc. The files in this directory show the state and the
 * descriptors of the process. */
#ifndef BASE_PLATFORM_LINUX_PROCESS_DIRECTORY_H
#define BASE_PLATFORM_LINUX_PROCESS_DIRECTORY_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Opens /proc/PID of the process to which pidfd refers, and returns the descriptor. `pid` is the
 * pid of that process. As soon as the process was reaped, its pid may belong to another process.
 * But an open directory in /proc never shows another process: after the process was reaped, each
 * file in the directory fails with ESRCH or ENOENT (proc(5)). So a caller that inspects a process
 * opens all files below this one descriptor.
 *
 * Returns -1 with ERR_NOT_FOUND if the process has exited.
 */
int process_directory(pid_t pid, int pidfd, struct error *err);
/* Returns true if the process to which the pidfd refers has exited, even if it is not reaped
 * yet. */
bool process_has_ended(int pidfd);
/* Opens a subdirectory, like "task" or "fd", of the directory that process_directory() has opened,
 * so that the caller can list its entries. The caller closes it with closedir(). Returns NULL with
 * errno; ESRCH or ENOENT if the process was reaped. */
DIR *process_list(int directory, const char *name);

#endif
