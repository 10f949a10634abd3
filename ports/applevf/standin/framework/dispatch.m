/* SPDX-License-Identifier: MIT */
/*
 * The serial queues of the stand-in. A queue has a list of blocks, and a thread that runs the
 * blocks one after another. The main queue has no separate thread: dispatch_main() runs the main
 * queue's blocks on the main thread. The threads that this file creates block all signals, so only
 * the other threads of the process get signals.
 */
#import "dispatch.h"

#import <Foundation/Foundation.h>

#include <Block.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

extern BOOL GSRegisterCurrentThread(void);

struct work {
	struct work *next;
	dispatch_block_t block;
};

/* The data that a queue's object shares with the queue's thread. When the object has been freed,
 * the thread runs all remaining blocks and then exits. */
struct lane {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	struct work *first, **last;
	bool closed;
	char label[64];
};

@interface StandinQueue : NSObject <OS_dispatch_queue> {
      @public
	struct lane *_lane;
}
@end

static __thread struct lane *current_lane;
static pthread_once_t main_once = PTHREAD_ONCE_INIT;
static StandinQueue *main_queue;

static void fail(const char *what)
{
	fprintf(stderr, "stand-in: BUG IN CLIENT OF LIBDISPATCH: %s\n", what);
	abort();
}

static struct lane *lane_of(dispatch_queue_t queue)
{
	if (!queue)
		fail("a queue is NULL");
	return ((StandinQueue *)queue)->_lane;
}

static void lane_free(struct lane *lane)
{
	pthread_mutex_destroy(&lane->mutex);
	pthread_cond_destroy(&lane->changed);
	free(lane);
}

static void lane_add(struct lane *lane, dispatch_block_t block)
{
	struct work *work = calloc(1, sizeof(*work));

	if (!work)
		fail("no memory");
	work->block = Block_copy(block);
	pthread_mutex_lock(&lane->mutex);
	*lane->last = work;
	lane->last = &work->next;
	pthread_cond_broadcast(&lane->changed);
	pthread_mutex_unlock(&lane->mutex);
}

/* Waits for the next block, and returns it. Returns NULL if the queue is closed and has no more
 * blocks. */
static dispatch_block_t lane_take(struct lane *lane)
{
	dispatch_block_t block = NULL;

	pthread_mutex_lock(&lane->mutex);
	while (!lane->first && !lane->closed)
		pthread_cond_wait(&lane->changed, &lane->mutex);
	struct work *work = lane->first;
	if (work) {
		lane->first = work->next;
		if (!lane->first)
			lane->last = &lane->first;
		block = work->block;
		free(work);
	}
	pthread_mutex_unlock(&lane->mutex);
	return block;
}

static void lane_run(struct lane *lane)
{
	dispatch_block_t block;

	current_lane = lane;
	while ((block = lane_take(lane))) {
		@autoreleasepool {
			block();
			Block_release(block);
		}
	}
	current_lane = NULL;
}

/* --- threads --------------------------------------------------------------------------------- */

static void *run_body(void *data)
{
	dispatch_block_t body = data;

	GSRegisterCurrentThread();
	@autoreleasepool {
		body();
	}
	Block_release(body);
	return NULL;
}

void standin_thread(void (^body)(void))
{
	pthread_t thread;
	pthread_attr_t attributes;
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int error = pthread_create(&thread, &attributes, run_body, Block_copy(body));
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		fail(strerror(error));
}

/* --- queues ---------------------------------------------------------------------------------- */

@implementation StandinQueue

- (id)initWithLabel:(const char *)label
{
	self = [super init];
	if (self) {
		_lane = calloc(1, sizeof(*_lane));
		if (!_lane)
			fail("no memory");
		pthread_mutex_init(&_lane->mutex, NULL);
		pthread_cond_init(&_lane->changed, NULL);
		_lane->last = &_lane->first;
		snprintf(_lane->label, sizeof(_lane->label), "%s", label ? label : "");
	}
	return self;
}

- (void)dealloc
{
	pthread_mutex_lock(&_lane->mutex);
	_lane->closed = true;
	pthread_cond_broadcast(&_lane->changed);
	pthread_mutex_unlock(&_lane->mutex);
	[super dealloc];
}

@end

dispatch_queue_t dispatch_queue_create(const char *label, dispatch_queue_attr_t attributes)
{
	if (attributes)
		fail("the stand-in has serial queues alone");
	StandinQueue *queue = [[StandinQueue alloc] initWithLabel:label];
	struct lane *lane = queue->_lane;
	standin_thread(^{
	  lane_run(lane);
	  lane_free(lane);
	});
	return (dispatch_queue_t)queue;
}

const char *dispatch_queue_get_label(dispatch_queue_t queue)
{
	return lane_of(queue)->label;
}

static void make_main_queue(void)
{
	main_queue = [[StandinQueue alloc] initWithLabel:"com.apple.main-thread"];
}

dispatch_queue_t dispatch_get_main_queue(void)
{
	pthread_once(&main_once, make_main_queue);
	return (dispatch_queue_t)main_queue;
}

void dispatch_main(void)
{
	if (![NSThread isMainThread])
		fail("dispatch_main() on another thread than the main one");
	lane_run(lane_of(dispatch_get_main_queue()));
	abort();
}

BOOL standin_queue_is_current(dispatch_queue_t queue)
{
	if (current_lane)
		return current_lane == lane_of(queue);
	return queue == dispatch_get_main_queue() && [NSThread isMainThread];
}

void dispatch_async(dispatch_queue_t queue, dispatch_block_t block)
{
	lane_add(lane_of(queue), block);
}

void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block)
{
	dispatch_semaphore_t done = dispatch_semaphore_create(0);

	if (standin_queue_is_current(queue))
		fail("dispatch_sync() on the queue that it was called on");
	dispatch_async(queue, ^{
	  block();
	  dispatch_semaphore_signal(done);
	});
	dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
	dispatch_release(done);
}

void dispatch_async_f(dispatch_queue_t queue, void *context, dispatch_function_t work)
{
	dispatch_async(queue, ^{
	  work(context);
	});
}

void dispatch_sync_f(dispatch_queue_t queue, void *context, dispatch_function_t work)
{
	dispatch_sync(queue, ^{
	  work(context);
	});
}

void dispatch_assert_queue(dispatch_queue_t queue)
{
	if (!standin_queue_is_current(queue))
		fail("dispatch_assert_queue(): the block runs on another queue");
}

void dispatch_assert_queue_not(dispatch_queue_t queue)
{
	if (standin_queue_is_current(queue))
		fail("dispatch_assert_queue_not(): the block runs on that queue");
}

void dispatch_once(dispatch_once_t *predicate, dispatch_block_t block)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&mutex);
	if (!*predicate)
		block();
	*predicate = ~0l;
	pthread_mutex_unlock(&mutex);
}

void dispatch_retain(dispatch_object_t object)
{
	[object retain];
}

void dispatch_release(dispatch_object_t object)
{
	[object release];
}
