/* SPDX-License-Identifier: MIT */
/*
 * Makes a filter from the table of system calls (vmm_calls.h). The filter is in force from the
 * VMM's first instruction. In a cell bwrap installs it. Without a cell proc_spawn() installs it.
 *
 * For machines that were never tested there is a variable, MICROAGENT_QEMU_SECCOMP=log. With this
 * setting all calls are allowed, and the kernel's log names the calls that the filter would have
 * refused.
 */
#ifndef BACKEND_PARTS_VMM_FILTER_H
#define BACKEND_PARTS_VMM_FILTER_H

#include <stdbool.h>

#include "base/error.h"

/* Reads the environment variable `variable`. Sets *only_logs to true if its value says that no call
 * is refused. Fails with ERR_INVALID if the value is not known. */
int vmm_filter_mode(const char *variable, bool *only_logs, struct error *err);
enum vmm_program { VMM_QEMU, VMM_FIRECRACKER };

/* Makes a file with the compiled filter for the VMM `program`. The caller closes *fd. */
int vmm_filter_open(enum vmm_program program, bool only_logs, int *fd, struct error *err);

#endif
