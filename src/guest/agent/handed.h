/* SPDX-License-Identifier: MIT */
/* A stream of the mux for a process that knows descriptors: it has one end of a socket pair, with
 * the other of which the loop joins the stream until either is over. */
#ifndef GUEST_HANDED_H
#define GUEST_HANDED_H

#include "base/loop.h"
#include "guest/agent/mux.h"

/* Takes over both; where that cannot be had both are closed. */
void handed_join(struct loop *loop, struct mux_stream *stream, int fd);

#endif
