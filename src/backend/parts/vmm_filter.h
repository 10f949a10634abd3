/* SPDX-License-Identifier: MIT */
/*
 * The table of system calls (vmm_calls.h) as a filter that holds from the VMM's first instruction:
 * in its cell by bwrap, without one by proc_spawn().
 *
 * For whoever has a machine that we have not: a variable (MICROAGENT_QEMU_SECCOMP=log) lets
 * everything through, and the kernel's log names what would have been refused.
 */
#ifndef BACKEND_PARTS_VMM_FILTER_H
#define BACKEND_PARTS_VMM_FILTER_H

#include <stdbool.h>

#include "base/error.h"

/* Whether this variable of the environment says that nothing is to be refused; ERR_INVALID where it
 * says neither. */
int vmm_filter_mode(const char *variable, bool *only_logs, struct error *err);
enum vmm_program { VMM_QEMU, VMM_FIRECRACKER };

/* The compiled filter as a file. The caller closes fd. */
int vmm_filter_open(enum vmm_program program, bool only_logs, int *fd, struct error *err);

#endif
