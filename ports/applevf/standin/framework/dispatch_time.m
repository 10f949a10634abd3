/* SPDX-License-Identifier: MIT */
/* Semaphores, and blocks that must run at a certain time. One thread waits for the time of the
 * earliest block. Times are nanoseconds of the monotonic clock. */
#import "dispatch.h"

#import <Foundation/Foundation.h>

#include <Block.h>
#include <errno.h>
#include <time.h>

static uint64_t monotonic_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * NSEC_PER_SEC + (uint64_t)now.tv_nsec;
}

static struct timespec timespec_of(uint64_t nanoseconds)
{
	return (struct timespec){.tv_sec = (time_t)(nanoseconds / NSEC_PER_SEC),
				 .tv_nsec = (long)(nanoseconds % NSEC_PER_SEC)};
}

static void monotonic_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t nanoseconds)
{
	if (when == DISPATCH_TIME_FOREVER)
		return when;
	return (when == DISPATCH_TIME_NOW ? monotonic_now() : when) + (uint64_t)nanoseconds;
}

/* --- semaphores ------------------------------------------------------------------------------ */

@interface StandinSemaphore : NSObject <OS_dispatch_semaphore> {
      @public
	pthread_mutex_t _mutex;
	pthread_cond_t _changed;
	intptr_t _value;
}
@end

@implementation StandinSemaphore

- (void)dealloc
{
	pthread_mutex_destroy(&_mutex);
	pthread_cond_destroy(&_changed);
	[super dealloc];
}

@end

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value)
{
	StandinSemaphore *semaphore = [[StandinSemaphore alloc] init];

	pthread_mutex_init(&semaphore->_mutex, NULL);
	monotonic_condition(&semaphore->_changed);
	semaphore->_value = value;
	return (dispatch_semaphore_t)semaphore;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t object, dispatch_time_t deadline)
{
	StandinSemaphore *semaphore = (StandinSemaphore *)object;
	struct timespec until = timespec_of(deadline);
	int error = 0;

	pthread_mutex_lock(&semaphore->_mutex);
	while (semaphore->_value <= 0 && error == 0) {
		if (deadline == DISPATCH_TIME_FOREVER)
			pthread_cond_wait(&semaphore->_changed, &semaphore->_mutex);
		else
			error = pthread_cond_timedwait(&semaphore->_changed, &semaphore->_mutex,
						       &until);
	}
	if (error == 0)
		semaphore->_value--;
	pthread_mutex_unlock(&semaphore->_mutex);
	return error;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t object)
{
	StandinSemaphore *semaphore = (StandinSemaphore *)object;

	/* Keeps the semaphore until this function returns, since a thread that wakes up may release
	 * it at once. */
	[semaphore retain];
	pthread_mutex_lock(&semaphore->_mutex);
	semaphore->_value++;
	pthread_cond_signal(&semaphore->_changed);
	pthread_mutex_unlock(&semaphore->_mutex);
	[semaphore release];
	return 0;
}

/* --- later ----------------------------------------------------------------------------------- */

struct timer {
	struct timer *next;
	uint64_t due;
	dispatch_queue_t queue;
	dispatch_block_t block;
};

static pthread_mutex_t timer_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t timer_once = PTHREAD_ONCE_INIT;
static pthread_cond_t timer_changed;
static struct timer *timers; /* the earliest first */

static void timer_fire(struct timer *timer)
{
	dispatch_async(timer->queue, timer->block);
	Block_release(timer->block);
	dispatch_release(timer->queue);
	free(timer);
}

static void run_timers(void)
{
	pthread_mutex_lock(&timer_mutex);
	for (;;) {
		struct timer *first = timers;

		if (!first) {
			pthread_cond_wait(&timer_changed, &timer_mutex);
		} else if (first->due > monotonic_now()) {
			struct timespec until = timespec_of(first->due);

			pthread_cond_timedwait(&timer_changed, &timer_mutex, &until);
		} else {
			timers = first->next;
			pthread_mutex_unlock(&timer_mutex);
			timer_fire(first);
			pthread_mutex_lock(&timer_mutex);
		}
	}
}

static void start_timers(void)
{
	monotonic_condition(&timer_changed);
	standin_thread(^{
	  run_timers();
	});
}

void dispatch_after(dispatch_time_t when, dispatch_queue_t queue, dispatch_block_t block)
{
	struct timer *timer = calloc(1, sizeof(*timer)), **place = &timers;

	if (!timer)
		abort();
	pthread_once(&timer_once, start_timers);
	*timer = (struct timer){.due = when == DISPATCH_TIME_NOW ? monotonic_now() : when,
				.queue = [queue retain],
				.block = Block_copy(block)};
	pthread_mutex_lock(&timer_mutex);
	while (*place && (*place)->due <= timer->due)
		place = &(*place)->next;
	timer->next = *place;
	*place = timer;
	pthread_cond_signal(&timer_changed);
	pthread_mutex_unlock(&timer_mutex);
}

void dispatch_after_f(dispatch_time_t when, dispatch_queue_t queue, void *context,
		      dispatch_function_t work)
{
	dispatch_after(when, queue, ^{
	  work(context);
	});
}
