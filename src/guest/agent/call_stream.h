/* SPDX-License-Identifier: MIT */
/*
 * Starts a streamed exec. The output of the command is read directly into the connection's send
 * queue, as frames. While the queue is full, output waits in the command's pipe.
 */
#ifndef GUEST_CALL_STREAM_H
#define GUEST_CALL_STREAM_H

#include "guest/agent/call.h"

int call_stream(struct conn *conn, struct request *request, struct error *err);
/* The functions by which a job reports to a streamed call. Every kind of call with streamed output
 * uses these functions. */
extern const struct job_owner call_stream_owner;

/* Returns memory in the connection's send queue for `len` bytes of output, or NULL if there is no
 * memory. */
uint8_t *call_stream_reserve(struct call *call, size_t len);
/* Makes a frame of the `len` bytes that the caller has put into the memory from
 * call_stream_reserve(). */
void call_stream_commit(struct call *call, enum job_stream stream, size_t len);

#endif
