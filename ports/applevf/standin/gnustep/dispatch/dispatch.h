/* SPDX-License-Identifier: MIT */
/*
 * The part of libdispatch that a client of Virtualization.framework needs. Debian has no
 * libdispatch that works with GCC's Objective-C runtime. Queues and semaphores are objects, as in
 * Objective-C on Darwin. The check for Darwin uses the real headers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#import <Foundation/NSObject.h>

typedef void (^dispatch_block_t)(void);
typedef void (*dispatch_function_t)(void *context);
typedef uint64_t dispatch_time_t;
typedef long dispatch_once_t;

@protocol OS_dispatch_queue <NSObject>
@end
@protocol OS_dispatch_semaphore <NSObject>
@end
typedef NSObject<OS_dispatch_queue> *dispatch_queue_t;
typedef NSObject<OS_dispatch_semaphore> *dispatch_semaphore_t;
typedef NSObject *dispatch_object_t;
typedef NSObject *dispatch_queue_attr_t;

#define DISPATCH_TIME_NOW (0ull)
#define DISPATCH_TIME_FOREVER (~0ull)
#define DISPATCH_QUEUE_SERIAL ((dispatch_queue_attr_t)NULL)
#define NSEC_PER_SEC 1000000000ull
#define NSEC_PER_MSEC 1000000ull
#define USEC_PER_SEC 1000000ull
#define NSEC_PER_USEC 1000ull

extern dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes);
extern const char *dispatch_queue_get_label(dispatch_queue_t queue);
extern dispatch_queue_t dispatch_get_main_queue(void);
extern void dispatch_main(void) __attribute__((noreturn));

extern void dispatch_async(dispatch_queue_t queue, dispatch_block_t block);
extern void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block);
extern void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block);
extern void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
extern void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work);
extern void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void *context,
			     dispatch_function_t work);
extern void dispatch_once(dispatch_once_t *predicate, dispatch_block_t block);
extern void dispatch_assert_queue(dispatch_queue_t queue);
extern void dispatch_assert_queue_not(dispatch_queue_t queue);

extern dispatch_time_t dispatch_time(dispatch_time_t when, int64_t nanoseconds);

extern dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
extern intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t deadline);
extern intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);

extern void dispatch_retain(dispatch_object_t object);
extern void dispatch_release(dispatch_object_t object);
