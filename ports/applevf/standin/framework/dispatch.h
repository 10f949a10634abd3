/* SPDX-License-Identifier: MIT */
/* Functions of the stand-in's libdispatch that are not part of its public interface, and that the
 * stand-in's framework uses. */
#pragma once

#include <dispatch/dispatch.h>
#include <pthread.h>

/* Returns YES if the calling code runs on the queue. On the main thread, always returns YES for the
 * main queue. */
extern BOOL standin_queue_is_current(dispatch_queue_t queue);
/* Starts a thread that blocks all signals, and that is registered with Foundation. */
extern void standin_thread(void (^body)(void));
