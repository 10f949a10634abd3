/* SPDX-License-Identifier: MIT */
/* What vsockd reports to its owner by an eventfd; the value is the sum of these numbers. */
#ifndef BASE_VSOCKD_TELLS_H
#define BASE_VSOCKD_TELLS_H

#include <stdint.h>

/* Added each time when the host's first stream to the guest begins, and when the last one ends: an
 * odd sum is a change. */
#define VSOCKD_TELLS_STREAMS UINT64_C(1)
/* Added once, when a program of the guest drives the device. That is its kernel, since no firmware
 * does so; behind a virtio-serial port it is the guest's agent. */
#define VSOCKD_TELLS_GUEST (UINT64_C(1) << 32)

#endif
