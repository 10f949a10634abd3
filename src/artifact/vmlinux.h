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
/* Writes what is packed in kernel into out_fd. ERR_UNSUPPORTED for a packing that libarchive does
 * not know. */
int vmlinux_unpack(const char *kernel, int out_fd, struct error *err);

#endif
