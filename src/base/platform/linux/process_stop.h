/* SPDX-License-Identifier: MIT */
/* Stops another process, so that it can be inspected while it changes nothing. */
#ifndef BASE_PLATFORM_LINUX_PROCESS_STOP_H
#define BASE_PLATFORM_LINUX_PROCESS_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"

/* Stops a process (SIGSTOP) and waits until each of its threads stands still. `name` is the name of
 * the process in errors. After a success the caller must continue the process (SIGCONT) later.
 * After a failure the process goes on. Fails with ERR_NOT_FOUND if the process has ended, and with
 * ERR_TIMEOUT if a thread did not stand still within LIMIT_SEVER_STOP_MS. */
int process_stop(const struct proc *process, const char *name, struct error *err);
/* Adds to *out how often the threads of a stopped process were switched to or from a processor. A
 * stopped process can continue itself, by a timer that sends SIGCONT. If the counts of two calls
 * are equal, no thread has run between the calls. ERR_TIMEOUT if a thread runs now; ERR_NOT_FOUND
 * if the process has ended. */
int process_count_switches(const struct proc *process, uint64_t *out, struct error *err);
/* Returns whether each thread of a process stands still because the process was stopped. */
bool process_is_stopped(const struct proc *process);

#endif
