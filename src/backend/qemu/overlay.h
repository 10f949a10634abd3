/* SPDX-License-Identifier: MIT */
/* An empty qcow2 layer in memory, over a disk that is only to be looked at. */
#ifndef BACKEND_QEMU_OVERLAY_H
#define BACKEND_QEMU_OVERLAY_H

#include <stdint.h>

#include "base/error.h"

/* A memfd; size is the disk's, in bytes. The layer names no file below it: that is said to QEMU. */
int overlay_new(uint64_t size, struct error *err);

#endif
