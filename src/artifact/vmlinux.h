/* SPDX-License-Identifier: MIT */
/*
 * Unpacks the kernel in a bzImage, because Firecracker before 1.17 boots only an unpacked kernel.
 * In the cache, the unpacked kernel of a bzImage K is the file K.vmlinux beside K.
 */
#ifndef ARTIFACT_VMLINUX_H
#define ARTIFACT_VMLINUX_H

#include <stdbool.h>

#include "base/error.h"

/* Returns true if the file is a bzImage that contains a packed kernel. Returns false for any other
 * file, and also if the file cannot be read. */
bool vmlinux_is_packed(const char *kernel);
/* Writes the unpacked kernel of a bzImage to a new file `name` in the directory. The unpacking is
 * done by a reader (reader.h), which can reach only the bzImage and the directory. ERR_UNSUPPORTED:
 * the compression is not known. */
int vmlinux_unpack(const char *kernel, int dir, const char *name, struct error *err);

#endif
