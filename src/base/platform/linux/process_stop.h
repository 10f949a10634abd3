/* SPDX-License-Identifier: MIT */
/* Stops another process, so that it can be inspected while it changes nothing. */
#ifndef BASE_PLATFORM_LINUX_PROCESS_STOP_H
#define BASE_PLATFORM_LINUX_PROCESS_STOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"

/* Stops a process with SIGSTOP, and waits until none of its threads runs. `name` is the name of the
 * process in error messages. After a success the caller must let the process continue (SIGCONT).
 * After a failure this function has already done so. ERR_NOT_FOUND: the process has exited.
 * ERR_TIMEOUT: a thread was still running after LIMIT_SEVER_STOP_MS. */
int process_stop(const struct proc *process, const char *name, struct error *err);
/* Adds the numbers of context switches of all threads of a stopped process to *out. A stopped
 * process may have set a timer that continues it by SIGCONT. If two calls give the same number, no
 * thread has run between the calls. ERR_TIMEOUT: a thread runs at present. ERR_NOT_FOUND: the
 * process has exited. */
int process_count_switches(const struct proc *process, uint64_t *out, struct error *err);
/* Returns true if no thread of the process runs, because the process was stopped. */
bool process_is_stopped(const struct proc *process);

#endif
