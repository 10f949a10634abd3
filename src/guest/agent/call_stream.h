/* SPDX-License-Identifier: MIT */
/*
 * Starts a streamed exec. What its command writes becomes frames directly in the connection's
 * queue. While the queue is full, output waits in the command's pipe.
 */
#ifndef GUEST_CALL_STREAM_H
#define GUEST_CALL_STREAM_H

#include "guest/agent/call.h"

int call_stream(struct conn *conn, struct request *request, struct error *err);
/* The table through which a job informs such a call. Calls with another job can use it too. */
extern const struct job_owner call_stream_owner;

/* Returns where len bytes of output can be put in the connection's queue; NULL without memory. */
uint8_t *call_stream_reserve(struct call *call, size_t len);
/* Makes a frame of len bytes that were put there. */
void call_stream_commit(struct call *call, enum job_stream stream, size_t len);

#endif
