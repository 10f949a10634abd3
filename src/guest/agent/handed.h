/* SPDX-License-Identifier: MIT */
/* Connects a stream of the mux to a descriptor in the loop, until the stream or the descriptor
 * ends. The descriptor may be a connection to a program. It may also be one end of a socket pair,
 * whose other end belongs to a process that needs a descriptor. */
#ifndef GUEST_HANDED_H
#define GUEST_HANDED_H

#include "base/loop.h"
#include "guest/agent/mux.h"

/* Takes over `stream` and `fd`. If they cannot be connected, closes both. `over` may be NULL. It is
 * called once, when both are closed, which may happen before this function returns. If one of the
 * two breaks, the connection on the other one is reset. */
void handed_join(struct loop *loop, struct mux_stream *stream, int fd, void (*over)(void *data),
		 void *data);

#endif
