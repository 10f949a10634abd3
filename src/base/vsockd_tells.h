/* SPDX-License-Identifier: MIT */
/* The numbers by which vsockd reports events to its owner, the live supervisor. vsockd adds a
 * number to the value of an eventfd. */
#ifndef BASE_VSOCKD_TELLS_H
#define BASE_VSOCKD_TELLS_H

#include <stdint.h>

/* Is added when the host's first stream to the guest begins, and again when the last of these
 * streams ends. So an odd number of additions since the last read means that the host now has
 * streams and had none before, or the other way round. */
#define VSOCKD_TELLS_STREAMS UINT64_C(1)
/* Is added once, when a program of the guest first drives the vsock device. This program is the
 * guest's kernel, since no firmware drives the device. If the streams go over a virtio-serial port,
 * this program is the guest's agent. */
#define VSOCKD_TELLS_GUEST (UINT64_C(1) << 32)

#endif
