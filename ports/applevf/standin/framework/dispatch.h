/* SPDX-License-Identifier: MIT */
/* The functions of the stand-in's libdispatch that the framework uses and that are not public. */
#pragma once

#include <dispatch/dispatch.h>
#include <pthread.h>

/* Returns whether the calling code runs on the queue. On the main thread the main queue is always
 * the current one. */
extern BOOL standin_queue_is_current(dispatch_queue_t queue);
/* Starts a thread that gets no signals of the process, and that is registered with Foundation. */
extern void standin_thread(void (^body)(void));
