/* SPDX-License-Identifier: MIT */
/* Functions of the stand-in's libdispatch that the framework needs beside the public ones. */
#pragma once

#include <dispatch/dispatch.h>
#include <pthread.h>

/* Returns whether the caller's code runs on the queue. On the main thread the main queue is always
 * current. */
extern BOOL standin_queue_is_current(dispatch_queue_t queue);
/* Starts a thread that gets no signal of the process, and that Foundation knows. */
extern void standin_thread(void (^body)(void));
