/* SPDX-License-Identifier: MIT */
/*
 * Kernels that are built as guests of a PVM. A PVM is a KVM that runs the guest's kernel as a
 * user's program of the host (module kvm_pvm). Such a kernel talks to the PVM by code that no other
 * kernel has.
 */
#ifndef ARTIFACT_PVM_H
#define ARTIFACT_PVM_H

#include <stdbool.h>

#include "base/error.h"

/* Sets *out to whether the kernel at the path has the code by which a kernel talks to a PVM. The
 * kernel must be unpacked, because the code cannot be found in compressed bytes. */
int pvm_find_code(const char *kernel, bool *out, struct error *err);

#endif
