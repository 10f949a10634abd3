/* SPDX-License-Identifier: MIT */
/* Connects a stream of the mux to a descriptor in the loop, until either of them ends. The
 * descriptor is one end of a socket pair, whose other end belongs to a process that needs a
 * descriptor, or a connection to a program. */
#ifndef GUEST_HANDED_H
#define GUEST_HANDED_H

#include "base/loop.h"
#include "guest/agent/mux.h"

/* Takes over `stream` and `fd`. If they cannot be connected, closes both. `over`, which may be
 * NULL, is called once, when both are closed; this may happen before the function returns. If the
 * stream or the descriptor breaks, the connection on the opposite side is reset. */
void handed_join(struct loop *loop, struct mux_stream *stream, int fd, void (*over)(void *data),
		 void *data);

#endif
