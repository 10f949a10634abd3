/* SPDX-License-Identifier: MIT */
/* Stopping another process, so that it can be looked at while it changes nothing. */
#ifndef BASE_PLATFORM_LINUX_PROCESS_STOP_H
#define BASE_PLATFORM_LINUX_PROCESS_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"

/* Stops a process (SIGSTOP) and waits until each of its threads stands still. name: of the process, for
 * the error. After a success the caller lets it go on (SIGCONT). -1, and it goes on: ERR_NOT_FOUND
 * where it has ended, ERR_TIMEOUT where a thread has not stood still within LIMIT_SEVER_STOP_MS. */
int process_stop(const struct proc *process, const char *name, struct error *err);
/* Adds to *out how often the threads of a stopped process were given a processor or gave it up. Where two
 * counts are equal, and nothing runs, nothing has run in between: a process can wake itself, by a timer
 * that sends SIGCONT. ERR_TIMEOUT: a thread runs; ERR_NOT_FOUND: the process has ended. */
int process_count_switches(const struct proc *process, uint64_t *out, struct error *err);
/* Returns whether each thread of a process stands still, since somebody has stopped it. */
bool process_is_stopped(const struct proc *process);

#endif
