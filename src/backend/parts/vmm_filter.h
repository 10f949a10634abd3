/* SPDX-License-Identifier: MIT */
/*
 * Makes a filter of the table of system calls (vmm_calls.h). The filter is in force from the VMM's
 * first instruction. bwrap installs it in a cell; without a cell proc_spawn() installs it.
 *
 * For machines that were never tested there is a variable (MICROAGENT_QEMU_SECCOMP=log): all calls
 * are allowed then, and the kernel's log names those that the filter would have refused.
 */
#ifndef BACKEND_PARTS_VMM_FILTER_H
#define BACKEND_PARTS_VMM_FILTER_H

#include <stdbool.h>

#include "base/error.h"

/* Reads this environment variable. Sets *only_logs to true if the variable says that nothing is
 * refused. ERR_INVALID: the variable has an unknown value. */
int vmm_filter_mode(const char *variable, bool *only_logs, struct error *err);
enum vmm_program { VMM_QEMU, VMM_FIRECRACKER };

/* Makes a file with the compiled filter. The caller closes *fd. */
int vmm_filter_open(enum vmm_program program, bool only_logs, int *fd, struct error *err);

#endif
