/* SPDX-License-Identifier: MIT */
/* What vsockd tells its owner by an eventfd, whose value is the sum of these. */
#ifndef BASE_VSOCKD_TELLS_H
#define BASE_VSOCKD_TELLS_H

#include <stdint.h>

/* Added each time when the host begins to have a stream to the guest, and when it has none any
 * more: an odd sum is a change. */
#define VSOCKD_TELLS_STREAMS UINT64_C(1)
/* Added once, when a program of the guest drives the device: its kernel, which no firmware does in
 * its place; or behind a virtio-serial port the guest's agent. */
#define VSOCKD_TELLS_GUEST (UINT64_C(1) << 32)

#endif
