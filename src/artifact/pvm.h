/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether a kernel is built for a PVM. A PVM is a KVM that runs the guest's kernel in the
 * host's user mode (module kvm_pvm). A kernel for a PVM contains machine code for calls to the PVM,
 * which no other kernel contains.
 */
#ifndef ARTIFACT_PVM_H
#define ARTIFACT_PVM_H

#include <stdbool.h>

#include "base/error.h"

/* Searches the kernel at the path for the machine code with which a kernel calls a PVM. Sets *out
 * to true if the kernel has it. The kernel must be unpacked, because the code cannot be found in
 * compressed bytes. */
int pvm_find_code(const char *kernel, bool *out, struct error *err);

#endif
