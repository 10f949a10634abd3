/* SPDX-License-Identifier: MIT */
/*
 * A streamed exec: what its command writes is framed where it lies in the connection's queue, and
 * waits in its pipe while that is full.
 */
#ifndef GUEST_CALL_STREAM_H
#define GUEST_CALL_STREAM_H

#include "guest/agent/call.h"

int call_stream(struct conn *conn, struct request *request, struct error *err);
/* What its job tells it; a call with another job can be told the same. */
extern const struct job_owner call_stream_owner;

/* Where len bytes of output can be put in the connection's queue; NULL: no memory. */
uint8_t *call_stream_reserve(struct call *call, size_t len);
/* len bytes were put there: makes a frame of them. */
void call_stream_commit(struct call *call, enum job_stream stream, size_t len);

#endif
