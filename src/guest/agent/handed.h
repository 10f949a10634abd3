/* SPDX-License-Identifier: MIT */
/* Copies bytes between a stream of the mux and a file descriptor, until either of them ends. The
 * file descriptor may be a connection to a program. The file descriptor may also be one end of a
 * socket pair, if a process that needs a file descriptor has the other end. */
#ifndef GUEST_HANDED_H
#define GUEST_HANDED_H

#include "base/loop.h"
#include "guest/agent/mux.h"

/* Takes ownership of `stream` and `fd`. If there is no memory, closes both. `over` may be NULL.
 * Calls over() once, when `stream` and `fd` are closed. The call of over() may come before this
 * function returns. If the stream or the connection breaks, resets a TCP connection of `fd`. */
void handed_join(struct loop *loop, struct mux_stream *stream, int fd, void (*over)(void *data),
		 void *data);

#endif
