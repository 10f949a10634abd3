/* SPDX-License-Identifier: MIT */
/* The numbers by which vsockd reports events to the live supervisor. vsockd adds a number to the
 * counter of an eventfd. */
#ifndef BASE_VSOCKD_TELLS_H
#define BASE_VSOCKD_TELLS_H

#include <stdint.h>

/* Added when the host's first stream to the guest begins, and again when the last stream ends. So
 * if the number of additions since the last read is odd, streams have begun where there were none,
 * or all streams have ended. */
#define VSOCKD_TELLS_STREAMS UINT64_C(1)
/* Added once, when a program of the guest first uses the vsock device. This program is the guest's
 * kernel, since no firmware uses the device. If the streams go over a virtio-serial port, this
 * program is the guest's agent. */
#define VSOCKD_TELLS_GUEST (UINT64_C(1) << 32)

#endif
