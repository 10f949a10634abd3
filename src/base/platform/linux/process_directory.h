/* SPDX-License-Identifier: MIT */
/* The directory of a process in /proc, through which the process is inspected. */
#ifndef BASE_PLATFORM_LINUX_PROCESS_DIRECTORY_H
#define BASE_PLATFORM_LINUX_PROCESS_DIRECTORY_H

#include <dirent.h>
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Opens /proc/PID of the process that pidfd stands for; pid is its number. The number may belong to
 * another process as soon as this one was reaped. The directory never does: once the process was
 * reaped, each name in its directory fails with ESRCH or ENOENT (proc(5)). So a caller that
 * inspects a process opens all names below this one descriptor.
 *
 * -1 with err: ERR_NOT_FOUND if the process has ended.
 */
int process_directory(pid_t pid, int pidfd, struct error *err);
/* Returns whether the process that the pidfd stands for has ended, reaped or not. */
bool process_has_ended(int pidfd);
/* Opens a directory in it, like "task" or "fd", to be listed. NULL with errno, as above. */
DIR *process_list(int directory, const char *name);

#endif
