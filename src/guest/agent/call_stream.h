/* SPDX-License-Identifier: MIT */
/*
 * Starts a streamed exec. The output of its command becomes frames directly in the connection's
 * queue. While the queue is full, output waits in the command's pipe.
 */
#ifndef GUEST_CALL_STREAM_H
#define GUEST_CALL_STREAM_H

#include "guest/agent/call.h"

int call_stream(struct conn *conn, struct request *request, struct error *err);
/* The functions by which a job reports to a streamed call. Every kind of call whose output is
 * streamed uses them. */
extern const struct job_owner call_stream_owner;

/* Returns memory in the connection's queue for `len` bytes of output; NULL if there is no
 * memory. */
uint8_t *call_stream_reserve(struct call *call, size_t len);
/* Makes a frame of the `len` bytes that the caller has put into the memory from
 * call_stream_reserve(). */
void call_stream_commit(struct call *call, enum job_stream stream, size_t len);

#endif
