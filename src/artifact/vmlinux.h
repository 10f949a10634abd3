/* SPDX-License-Identifier: MIT */
/*
 * The kernel that is packed in a bzImage, for VMMs that take no other (Firecracker before 1.17):
 * every kernel file K that is one has K.vmlinux.
 */
#ifndef ARTIFACT_VMLINUX_H
#define ARTIFACT_VMLINUX_H

#include <stdbool.h>

#include "base/error.h"

/* Whether the kernel is a bzImage with something packed in it; what cannot be read is none. */
bool vmlinux_is_packed(const char *kernel);
/* Writes what is packed in kernel into a new file of that name in the directory. A reader does it
 * (reader.h), which has nothing but kernel and the directory. ERR_UNSUPPORTED for a packing that is
 * not known. */
int vmlinux_unpack(const char *kernel, int dir, const char *name, struct error *err);

#endif
