/* SPDX-License-Identifier: MIT */
/*
 * Unpacks the kernel in a bzImage, for VMMs that take only an unpacked kernel (Firecracker before
 * 1.17). Every kernel file K that is a bzImage has K.vmlinux.
 */
#ifndef ARTIFACT_VMLINUX_H
#define ARTIFACT_VMLINUX_H

#include <stdbool.h>

#include "base/error.h"

/* Returns true if the kernel is a bzImage with a packed kernel in it. Returns false if it cannot be
 * read. */
bool vmlinux_is_packed(const char *kernel);
/* Writes the packed kernel of a bzImage to a new file of that name in the directory. A reader
 * unpacks it (reader.h), which can reach only kernel and the directory. ERR_UNSUPPORTED if the
 * packing is not known. */
int vmlinux_unpack(const char *kernel, int dir, const char *name, struct error *err);

#endif
