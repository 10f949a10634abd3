/* SPDX-License-Identifier: MIT */
/* A stream of the mux joined by the loop to a descriptor, until either is over: the other end of a
 * socket pair that a process has which knows descriptors, or a connection to a program. */
#ifndef GUEST_HANDED_H
#define GUEST_HANDED_H

#include "base/loop.h"
#include "guest/agent/mux.h"

/* Takes over both; where that cannot be had both are closed. over (NULL: nobody wants to know) is
 * called once, when neither is there any more, maybe at once. What broke resets a connection. */
void handed_join(struct loop *loop, struct mux_stream *stream, int fd, void (*over)(void *data),
		 void *data);

#endif
