/* SPDX-License-Identifier: MIT */
/* The hybrid-vsock dial of dial.h, made on a loop. */
#ifndef CHANNEL_DIALLING_H
#define CHANNEL_DIALLING_H

#include <stdint.h>

#include "base/connecting.h"

struct dialling;

/* To guest port, through <dirfd>/vsock.sock; dirfd must stay open. */
struct dialling *dialling_new(struct loop *loop, int dirfd, uint32_t port, uint64_t deadline_ns,
			      reached_fn *done, void *data, struct error *err);
void dialling_free(struct dialling *dialling); /* gives up; accepts NULL */

#endif
