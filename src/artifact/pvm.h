/* SPDX-License-Identifier: MIT */
/*
 * Kernels that are built as guests of a PVM, a KVM that runs the kernel of a guest as a user's
 * program of the host (module kvm_pvm). They speak to it by code that no other kernel has.
 */
#ifndef ARTIFACT_PVM_H
#define ARTIFACT_PVM_H

#include <stdbool.h>

#include "base/error.h"

/* Sets *out to whether the kernel at the path has such code. The kernel is an unpacked one: of what
 * is compressed nothing can be seen. */
int pvm_find_code(const char *kernel, bool *out, struct error *err);

#endif
