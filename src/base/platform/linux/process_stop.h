/* SPDX-License-Identifier: MIT */
/* Stops another process, so that it can be inspected while it changes nothing. */
#ifndef BASE_PLATFORM_LINUX_PROCESS_STOP_H
#define BASE_PLATFORM_LINUX_PROCESS_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"

/* Stops a process (SIGSTOP) and waits until each of its threads stands still. name is the name of
 * the process in the error. After a success the caller continues the process (SIGCONT). On failure
 * returns -1, and the process goes on: ERR_NOT_FOUND if it has ended, ERR_TIMEOUT if a thread did
 * not stand still within LIMIT_SEVER_STOP_MS. */
int process_stop(const struct proc *process, const char *name, struct error *err);
/* Adds to *out how often the threads of a stopped process were given a processor or gave it up. If
 * two counts are equal, and no thread runs, then none has run in between: a process can continue
 * itself, by a timer that sends SIGCONT. ERR_TIMEOUT if a thread runs; ERR_NOT_FOUND if the process
 * has ended. */
int process_count_switches(const struct proc *process, uint64_t *out, struct error *err);
/* Returns whether each thread of a process stands still because the process was stopped. */
bool process_is_stopped(const struct proc *process);

#endif
