/* SPDX-License-Identifier: MIT */
/*
 * Reports memory pressure by libdispatch, the only public interface that reports it. The handler of
 * the dispatch source runs on a thread of libdispatch. The handler stores the level and wakes the
 * loop. The thread of the loop and the thread of libdispatch use the same memory, struct pressure.
 * The cancel handler of the source frees this memory, since no other handler runs after the cancel
 * handler.
 */
#include "supervisor/live/watch_pressure.h"

#include <dispatch/dispatch.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/platform/waitable.h"

/* The memory that is shared by the loop's thread and the thread of libdispatch. */
struct pressure {
	dispatch_source_t source;
	int wake;
	atomic_ulong level; /* DISPATCH_MEMORYPRESSURE_... */
};

struct watch_pressure {
	struct loop_watch *watch;
	struct pressure *pressure;
	uint64_t told_ns; /* the time of the last report; 0: nothing was reported yet */
	watch_pressure_fn *fn;
	void *data;
};

/* Stores the level and wakes the loop. Runs on a thread of libdispatch. */
static void on_pressure(void *context)
{
	struct pressure *pressure = context;

	atomic_store(&pressure->level, dispatch_source_get_data(pressure->source));
	wake_raise(pressure->wake);
}

static void free_pressure(void *context)
{
	struct pressure *pressure = context;

	dispatch_release(pressure->source);
	close(pressure->wake);
	free(pressure);
}

static void on_pressure_woken(struct loop *loop, int fd, uint32_t events, void *data)
{
	struct watch_pressure *watch = data;
	uint64_t now = clock_mono_ns();
	bool critical;

	(void)loop, (void)events;
	wake_clear(fd);
	critical = atomic_load(&watch->pressure->level) & DISPATCH_MEMORYPRESSURE_CRITICAL;
	if (watch->told_ns && now - watch->told_ns < limit_get(LIMIT_PRESSURE_AGAIN_MS) * NS_PER_MS)
		return;
	watch->told_ns = now;
	watch->fn(watch->data, json_pack("{s:s}", "level", critical ? "critical" : "warning"));
}

static struct pressure *make_pressure(struct error *err)
{
	struct pressure *pressure = calloc(1, sizeof(*pressure));

	if (!pressure) {
		error_errno(err, ENOMEM, "memory pressure");
		return NULL;
	}
	pressure->wake = wake_open();
	if (pressure->wake < 0) {
		error_errno(err, errno, "memory pressure");
		free(pressure);
		return NULL;
	}
	pressure->source = dispatch_source_create(DISPATCH_SOURCE_TYPE_MEMORYPRESSURE, 0,
						  DISPATCH_MEMORYPRESSURE_WARN |
							  DISPATCH_MEMORYPRESSURE_CRITICAL,
						  dispatch_get_global_queue(QOS_CLASS_UTILITY, 0));
	if (pressure->source) {
		dispatch_set_context(pressure->source, pressure);
		dispatch_source_set_event_handler_f(pressure->source, on_pressure);
		dispatch_source_set_cancel_handler_f(pressure->source, free_pressure);
		dispatch_resume(pressure->source);
		return pressure;
	}
	error_errno(err, ENOMEM, "memory pressure");
	close(pressure->wake);
	free(pressure);
	return NULL;
}

struct watch_pressure *watch_pressure_new(struct loop *loop, watch_pressure_fn *fn, void *data,
					  struct error *err)
{
	struct watch_pressure *watch = calloc(1, sizeof(*watch));

	if (!watch) {
		error_errno(err, ENOMEM, "memory pressure");
		return NULL;
	}
	watch->fn = fn;
	watch->data = data;
	watch->pressure = make_pressure(err);
	if (watch->pressure)
		watch->watch = loop_add_fd(loop, watch->pressure->wake, LOOP_IN, on_pressure_woken,
					   watch, err);
	if (watch->watch)
		return watch;
	watch_pressure_free(watch);
	return NULL;
}

void watch_pressure_free(struct watch_pressure *watch)
{
	if (!watch)
		return;
	loop_remove(watch->watch);
	if (watch->pressure)
		dispatch_source_cancel(watch->pressure->source);
	free(watch);
}
