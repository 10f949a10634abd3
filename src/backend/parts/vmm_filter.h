/* SPDX-License-Identifier: MIT */
/*
 * Makes the table of system calls (vmm_calls.h) into a filter that holds from the VMM's first
 * instruction. bwrap installs it in a cell; without a cell proc_spawn() does.
 *
 * For machines that we have not tested there is a variable (MICROAGENT_QEMU_SECCOMP=log). It allows
 * everything, and the kernel's log names what would have been refused.
 */
#ifndef BACKEND_PARTS_VMM_FILTER_H
#define BACKEND_PARTS_VMM_FILTER_H

#include <stdbool.h>

#include "base/error.h"

/* Reads from this variable of the environment whether nothing is refused. ERR_INVALID: its value is
 * neither of the two. */
int vmm_filter_mode(const char *variable, bool *only_logs, struct error *err);
enum vmm_program { VMM_QEMU, VMM_FIRECRACKER };

/* Makes the compiled filter as a file. The caller closes *fd. */
int vmm_filter_open(enum vmm_program program, bool only_logs, int *fd, struct error *err);

#endif
