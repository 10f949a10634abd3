/* SPDX-License-Identifier: MIT */
/* The hybrid-vsock dial: CONNECT <port>\n, answered OK <n>\n or by a close. */
#ifndef CHANNEL_DIAL_H
#define CHANNEL_DIAL_H

#include <stdint.h>

#include "base/error.h"

/* A connected blocking stream to guest port, through <dirfd>/vsock.sock. ERR_NOT_FOUND without the
 * socket, ERR_UNAVAILABLE when nothing listens on it or the guest refuses, ERR_TIMEOUT. */
int dial_guest(int dirfd, uint32_t port, uint64_t deadline_ns, struct error *err);

#endif
