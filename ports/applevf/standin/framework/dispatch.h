/* SPDX-License-Identifier: MIT */
/* What the framework asks of its libdispatch beyond the public functions. */
#pragma once

#include <dispatch/dispatch.h>
#include <pthread.h>

/* Whether the caller's code runs on the queue; on the main thread the main queue is always current.
 */
extern BOOL standin_queue_is_current(dispatch_queue_t queue);
/* A thread that gets no signal of the process, and is known to Foundation. */
extern void standin_thread(void (^body)(void));
