/* SPDX-License-Identifier: MIT */
/*
 * Unpacks the kernel in a bzImage, for VMMs that take only an unpacked kernel (Firecracker before
 * 1.17). Beside every kernel file K of the cache that is a bzImage there is the unpacked K.vmlinux.
 */
#ifndef ARTIFACT_VMLINUX_H
#define ARTIFACT_VMLINUX_H

#include <stdbool.h>

#include "base/error.h"

/* Returns true if the file is a bzImage with a packed kernel in it. Returns false if not, or if the
 * file cannot be read. */
bool vmlinux_is_packed(const char *kernel);
/* Writes the unpacked kernel of a bzImage to a new file `name` in the directory. A reader
 * (reader.h) unpacks it, which can reach only the bzImage and the directory. ERR_UNSUPPORTED if the
 * kind of compression is not known. */
int vmlinux_unpack(const char *kernel, int dir, const char *name, struct error *err);

#endif
