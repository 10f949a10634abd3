/* SPDX-License-Identifier: MIT */
/*
 * The event loop: descriptors, timers, signals and the ends of processes. What it waits with is the
 * system's (platform/poller.h). Single-threaded. Callbacks may add and remove any watch, their own
 * included; a removed watch is never called again, also not for an event of the present round.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"

struct loop;
struct loop_watch; /* a registered descriptor, timer, signal or process */

/* LOOP_ERR and LOOP_HUP come unasked. */
#define LOOP_IN UINT32_C(0x001)
#define LOOP_PRI UINT32_C(0x002) /* out of band; on Linux alone */
#define LOOP_OUT UINT32_C(0x004)
#define LOOP_ERR UINT32_C(0x008)
#define LOOP_HUP UINT32_C(0x010)       /* both directions are over */
#define LOOP_RDHUP UINT32_C(0x2000)    /* the other end writes no more */
#define LOOP_EDGE UINT32_C(0x80000000) /* to be told of each change once, not of how it is */

typedef void loop_fd_fn(struct loop *loop, int fd, uint32_t events, void *data);
typedef void loop_timer_fn(struct loop *loop, void *data);
typedef void loop_signal_fn(struct loop *loop, int signal, void *data);
typedef void loop_proc_fn(struct loop *loop, int code, void *data); /* exit code or 128+signal */

struct loop *loop_new(struct error *err);
/* Drops all watches; closes none of the callers' descriptors. Not from a callback. */
void loop_free(struct loop *loop);

/* events: LOOP_IN, LOOP_OUT, LOOP_PRI, LOOP_RDHUP, LOOP_EDGE; LOOP_HUP by itself waits for the end
 * alone; 0 for nothing, not even for that. The descriptor stays the caller's, who removes the watch
 * before closing it. Regular files and /dev/null count as always ready. One watch for each
 * descriptor. NULL on failure. */
struct loop_watch *loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn,
			       void *data, struct error *err);
int loop_set_events(struct loop_watch *watch, uint32_t events, struct error *err);
/* Once, at deadline_ns on clock_mono_ns(); the watch removes itself when it has fired. */
struct loop_watch *loop_add_timer(struct loop *loop, uint64_t deadline_ns, loop_timer_fn *fn,
				  void *data, struct error *err);
/* Every interval_ns (above 0) until removed. Missed times are not made up for. */
struct loop_watch *loop_add_interval(struct loop *loop, uint64_t interval_ns, loop_timer_fn *fn,
				     void *data, struct error *err);
/* Blocks the signal for the calling thread and those it starts, for good, and delivers it here. Of
 * two watches of one signal either may get it. */
struct loop_watch *loop_add_signal(struct loop *loop, int signal, loop_signal_fn *fn, void *data,
				   struct error *err);
/* Calls once when the process has ended and was reaped; p becomes PROC_NONE before the call, the
 * watch removes itself. code 255 when somebody else reaped it. p must stay where it is. */
struct loop_watch *loop_add_proc(struct loop *loop, struct proc *p, loop_proc_fn *fn, void *data,
				 struct error *err);
/* Accepts NULL. The pointer is dead after this, as it is after a watch removed itself. */
void loop_remove(struct loop_watch *watch);

int loop_run(struct loop *loop, struct error *err); /* until loop_stop() */
void loop_stop(struct loop *loop);
/* One round; waits at most timeout_ms (-1: until something happens). With a virtual clock it never
 * waits. Returns the number of callbacks made or -1. */
int loop_once(struct loop *loop, int timeout_ms, struct error *err);

#endif
