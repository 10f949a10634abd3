/* SPDX-License-Identifier: MIT */
/*
 * The event loop, for descriptors, timers, signals and exits of processes. platform/poller.h
 * declares the functions that wait for events. A loop must be used by only one thread. Callbacks
 * may add and remove any watch, also their own. The callback of a removed watch is never called
 * again, even if an event for it was already received in the same round.
 */
#ifndef BASE_LOOP_H
#define BASE_LOOP_H

#include <stdint.h>

#include "base/error.h"
#include "base/proc.h"

struct loop;
struct loop_watch; /* a registered descriptor, timer, signal or process */

/* Events. LOOP_ERR and LOOP_HUP are reported even if the watch does not ask for them. */
#define LOOP_IN UINT32_C(0x001)
#define LOOP_PRI UINT32_C(0x002) /* out-of-band data; only on Linux */
#define LOOP_OUT UINT32_C(0x004)
#define LOOP_ERR UINT32_C(0x008)
#define LOOP_HUP UINT32_C(0x010)    /* both directions are closed */
#define LOOP_RDHUP UINT32_C(0x2000) /* the peer has shut down its sending direction */
/* Makes the loop report an event once, when it occurs. Without this flag the event is reported in
 * each round as long as its cause lasts. */
#define LOOP_EDGE UINT32_C(0x80000000)

typedef void loop_fd_fn(struct loop *loop, int fd, uint32_t events, void *data);
typedef void loop_timer_fn(struct loop *loop, void *data);
typedef void loop_signal_fn(struct loop *loop, int signal, void *data);
/* `code` is the exit code of the process, or 128 + the signal that killed it */
typedef void loop_proc_fn(struct loop *loop, int code, void *data);

struct loop *loop_new(struct error *err);
/* Frees the loop and all watches. Closes none of the callers' descriptors. Must not be called from
 * a callback. */
void loop_free(struct loop *loop);

/* Watches a descriptor for the events LOOP_IN, LOOP_OUT, LOOP_PRI and LOOP_RDHUP; LOOP_EDGE may be
 * added. LOOP_HUP alone waits only for LOOP_HUP and LOOP_ERR; 0 waits for nothing, not even for
 * LOOP_HUP and LOOP_ERR. The caller must remove the watch before it closes the descriptor. Regular
 * files and /dev/null are always ready. A descriptor can have only one watch. Returns NULL on
 * failure. */
struct loop_watch *loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn,
			       void *data, struct error *err);
int loop_set_events(struct loop_watch *watch, uint32_t events, struct error *err);
/* Calls `fn` once at `deadline_ns` on clock_mono_ns(). The watch is removed automatically when it
 * has fired. */
struct loop_watch *loop_add_timer(struct loop *loop, uint64_t deadline_ns, loop_timer_fn *fn,
				  void *data, struct error *err);
/* Calls `fn` every `interval_ns` ns (above 0) until the watch is removed. If the loop is late by
 * more than an interval, the missed calls are skipped. */
struct loop_watch *loop_add_interval(struct loop *loop, uint64_t interval_ns, loop_timer_fn *fn,
				     void *data, struct error *err);
/* Calls `fn` when the signal comes. Blocks the signal for the calling thread and for the threads
 * that it starts later. The signal stays blocked even after the watch is removed. If a signal has
 * two watches, only one of them gets each signal. */
struct loop_watch *loop_add_signal(struct loop *loop, int signal, loop_signal_fn *fn, void *data,
				   struct error *err);
/* Calls `fn` once, when the process has exited and was reaped. Before that call *p becomes
 * PROC_NONE, and the watch is removed automatically. `code` is 255 if another module has reaped the
 * process. *p must not move in memory as long as the watch exists. */
struct loop_watch *loop_add_proc(struct loop *loop, struct proc *p, loop_proc_fn *fn, void *data,
				 struct error *err);
/* Removes a watch, and makes its pointer invalid. Accepts NULL. The pointer is also invalid after a
 * watch was removed automatically. */
void loop_remove(struct loop_watch *watch);

int loop_run(struct loop *loop, struct error *err); /* runs until loop_stop() is called */
void loop_stop(struct loop *loop);
/* Runs one round. Waits at most `timeout_ms` for an event (-1: without a limit); with a virtual
 * clock it does not wait. Returns the number of callbacks that were called, or -1 with an error. */
int loop_once(struct loop *loop, int timeout_ms, struct error *err);

#endif
