/* SPDX-License-Identifier: MIT */
/*
 * Every watch is in exactly one of two lists of the loop: a timer is in `timers`, which is sorted
 * by deadline, and any other watch is in `watches`. A removed watch leaves its list at once and is
 * marked dead. The watch's memory is freed only at the end of the round, since the round's array of
 * events, or an iteration, may still point to the watch.
 */
#include "base/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/platform/poller.h"
#include "base/platform/waitable.h"

enum loop_kind { KIND_FD, KIND_TIMER, KIND_SIGNAL, KIND_PROC };

struct loop_watch {
	struct loop *loop;
	struct loop_watch *next, **link; /* the neighbours in the list; *link points to this watch
					  * while the watch is in the list */
	struct loop_watch *next_dead;
	enum loop_kind kind;
	bool dead;
	bool polled;	   /* the poller watches `fd` */
	bool always_ready; /* `fd` never blocks, like a regular file, so the poller refuses it */
	int fd;		   /* the descriptor of the caller, or the pidfd of the process, or the
			    * descriptor that the loop has made for the signal */
	uint32_t events;
	uint64_t deadline;
	uint64_t interval; /* the interval of the timer in nanoseconds; 0: the timer fires once */
	uint64_t round;	   /* the round in which the timer was set; the timer does not fire in this
			    * round */
	struct proc *proc;
	union {
		loop_fd_fn *fd;
		loop_timer_fn *timer;
		loop_signal_fn *signal;
		loop_proc_fn *proc;
	} fn;
	void *data;
};

struct loop {
	struct poller *poller;
	struct loop_watch *watches, *timers, *dead;
	unsigned always_ready; /* number of watches that are always ready */
	uint64_t round;
	int depth; /* the number of nested calls of loop_once() that are running */
	bool stop;
};

/* --- the watches ------------------------------------------------------------------------------ */

static void insert_watch(struct loop_watch **link, struct loop_watch *w)
{
	w->next = *link;
	w->link = link;
	if (w->next)
		w->next->link = &w->next;
	*link = w;
}

static void insert_timer(struct loop_watch *w)
{
	struct loop_watch **link = &w->loop->timers;

	while (*link && (*link)->deadline <= w->deadline)
		link = &(*link)->next;
	w->round = w->loop->round;
	insert_watch(link, w);
}

/* Removes a watch from its list. Leaves w->next unchanged, so that an iteration that is at `w` can
 * go on. */
static void take_out(struct loop_watch *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
}

/* Frees the dead watches; called only between rounds. */
static void bury_dead(struct loop *loop)
{
	while (loop->dead) {
		struct loop_watch *w = loop->dead;
		loop->dead = w->next_dead;
		free(w);
	}
}

struct loop *loop_new(struct error *err)
{
	struct loop *loop = calloc(1, sizeof(*loop));

	if (!loop) {
		error_errno(err, ENOMEM, "event loop");
		return NULL;
	}
	loop->poller = poller_new();
	if (!loop->poller) {
		error_errno(err, errno, "event loop");
		loop_free(loop);
		return NULL;
	}
	return loop;
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->watches)
		loop_remove(loop->watches);
	while (loop->timers)
		loop_remove(loop->timers);
	bury_dead(loop);
	poller_free(loop->poller);
	free(loop);
}

static struct loop_watch *watch_new(struct loop *loop, enum loop_kind kind, int fd, void *data,
				    struct error *err)
{
	struct loop_watch *w = calloc(1, sizeof(*w));

	if (w)
		*w = (struct loop_watch){.loop = loop, .kind = kind, .fd = fd, .data = data};
	else
		error_errno(err, ENOMEM, "event loop");
	return w;
}

/* Removes a watch without events from the poller. Otherwise the poller would still report LOOP_HUP,
 * and a loop with such a watch would never wait. */
int loop_set_events(struct loop_watch *w, uint32_t events, struct error *err)
{
	if (events == w->events && (!events || w->polled || w->always_ready))
		return 0;
	if (!w->always_ready && (events || w->polled) &&
	    poller_set(w->loop->poller, w->fd, w->polled ? w->events : 0, events, w) < 0) {
		if (errno != EPERM)
			return error_errno(err, errno, "watch descriptor %d", w->fd);
		w->always_ready = true;
		w->loop->always_ready++;
	}
	w->polled = events && !w->always_ready;
	w->events = events;
	return 0;
}

static struct loop_watch *add_polled(struct loop_watch *w, uint32_t events, struct error *err)
{
	if (loop_set_events(w, events, err) < 0) {
		if (w->kind == KIND_SIGNAL)
			close(w->fd);
		free(w);
		return NULL;
	}
	insert_watch(&w->loop->watches, w);
	return w;
}

struct loop_watch *loop_add_fd(struct loop *loop, int fd, uint32_t events, loop_fd_fn *fn,
			       void *data, struct error *err)
{
	struct loop_watch *w = watch_new(loop, KIND_FD, fd, data, err);

	if (!w)
		return NULL;
	w->fn.fd = fn;
	return add_polled(w, events, err);
}

struct loop_watch *loop_add_timer(struct loop *loop, uint64_t deadline_ns, loop_timer_fn *fn,
				  void *data, struct error *err)
{
	struct loop_watch *w = watch_new(loop, KIND_TIMER, -1, data, err);

	if (!w)
		return NULL;
	w->fn.timer = fn;
	w->deadline = deadline_ns;
	insert_timer(w);
	return w;
}

struct loop_watch *loop_add_interval(struct loop *loop, uint64_t interval_ns, loop_timer_fn *fn,
				     void *data, struct error *err)
{
	struct loop_watch *w;

	if (interval_ns == 0) {
		error_set(
			err, ERR_INVALID,
			"a timer was to have an interval of 0: this is a bug of microagent, or a limit is 0");
		return NULL;
	}
	w = loop_add_timer(loop, clock_mono_ns() + interval_ns, fn, data, err);
	if (w)
		w->interval = interval_ns;
	return w;
}

struct loop_watch *loop_add_signal(struct loop *loop, int signal, loop_signal_fn *fn, void *data,
				   struct error *err)
{
	struct loop_watch *w;
	sigset_t set;
	int fd;

	sigemptyset(&set);
	/* The signal stays blocked when the watch is removed. Otherwise a signal that comes later
	 * would kill this process. */
	if (sigaddset(&set, signal) < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0 ||
	    (fd = signal_fd_open(&set)) < 0) {
		error_errno(err, errno, "watch signal %d", signal);
		return NULL;
	}
	w = watch_new(loop, KIND_SIGNAL, fd, data, err);
	if (!w) {
		close(fd);
		return NULL;
	}
	w->fn.signal = fn;
	return add_polled(w, LOOP_IN, err);
}

struct loop_watch *loop_add_proc(struct loop *loop, struct proc *p, loop_proc_fn *fn, void *data,
				 struct error *err)
{
	struct loop_watch *w = watch_new(loop, KIND_PROC, p->pidfd, data, err);

	if (!w)
		return NULL;
	w->fn.proc = fn;
	w->proc = p;
	return add_polled(w, LOOP_IN, err);
}

void loop_remove(struct loop_watch *w)
{
	if (!w || w->dead)
		return;
	/* The call fails only if the caller has closed the descriptor before removing the watch.
	 * Then the poller no longer watches the descriptor, so the failure does no harm. */
	if (w->polled)
		poller_set(w->loop->poller, w->fd, w->events, 0, NULL);
	if (w->kind == KIND_SIGNAL)
		close(w->fd);
	take_out(w);
	w->loop->always_ready -= w->always_ready;
	w->dead = true;
	w->next_dead = w->loop->dead;
	w->loop->dead = w;
	if (w->loop->depth == 0)
		bury_dead(w->loop);
}

/* --- a round ---------------------------------------------------------------------------------- */

static int call_watch(struct loop_watch *w, uint32_t events)
{
	struct loop *loop = w->loop;
	int signal, code = 255;

	if (w->dead)
		return 0;
	if (w->kind == KIND_SIGNAL) {
		signal = signal_fd_take(w->fd);
		if (!signal)
			return 0; /* another watch of the same signal has already read the signal */
		w->fn.signal(loop, signal, w->data);
		return 1;
	}
	if (w->kind == KIND_PROC) {
		loop_remove(w); /* loop_remove() comes before proc_wait(), which closes the
				 * descriptor */
		if (proc_wait(w->proc, UINT64_MAX, &code, NULL) < 0)
			proc_end(w->proc); /* the exit code is lost, because another module has
					    * reaped the process */
		w->fn.proc(loop, code, w->data);
		return 1;
	}
	/* A callback of this round may have changed the events of the watch since poller_wait(). */
	events &= w->events | LOOP_ERR | LOOP_HUP;
	if (!events || !w->events)
		return 0;
	w->fn.fd(loop, w->fd, events, w->data);
	return 1;
}

static bool has_always_ready(const struct loop *loop)
{
	const struct loop_watch *w = loop->always_ready ? loop->watches : NULL;

	while (w && !(w->always_ready && (w->events & (LOOP_IN | LOOP_OUT))))
		w = w->next;
	return w;
}

static int call_due_timers(struct loop *loop)
{
	struct loop_watch *w = loop->timers;
	uint64_t now = w ? clock_mono_ns() : 0;
	int called = 0;

	while (w && w->deadline <= now) {
		if (w->round == loop->round) { /* the timer was set in this round, so it must not
					        * fire in it */
			w = w->next;
			continue;
		}
		if (w->interval) {
			take_out(w);
			/* If the loop is late by more than an interval, the missed calls are
			 * skipped. */
			w->deadline += w->interval;
			if (w->deadline <= now)
				w->deadline = now + w->interval;
			insert_timer(w);
		} else {
			loop_remove(w);
		}
		w->fn.timer(loop, w->data);
		called++;
		w = loop->timers; /* starts at the beginning of the list again, because the callback
				   * may have changed the list */
	}
	return called;
}

/* Waits. Then calls the callbacks of descriptors, signals and processes, and afterwards those of
 * the timers whose deadline has passed. */
int loop_once(struct loop *loop, int timeout_ms, struct error *err)
{
	struct poller_event events[POLLER_EVENTS];
	uint64_t deadline = loop->timers ? loop->timers->deadline : UINT64_MAX;
	int n, called = 0;

	if (clock_is_virtual() || has_always_ready(loop) ||
	    (loop->timers && loop->timers->deadline <= clock_mono_ns()))
		timeout_ms = 0;
	n = poller_wait(loop->poller, events, timeout_ms, deadline);
	if (n < 0 && errno != EINTR)
		return error_errno(err, errno, "event loop");
	loop->depth++;
	loop->round++;
	for (int i = 0; i < n; i++)
		called += call_watch(events[i].data, events[i].events);
	for (struct loop_watch *w = loop->always_ready ? loop->watches : NULL; w; w = w->next)
		if (w->always_ready)
			called += call_watch(w, w->events & (LOOP_IN | LOOP_OUT));
	called += call_due_timers(loop);
	if (--loop->depth == 0)
		bury_dead(loop);
	return called;
}

int loop_run(struct loop *loop, struct error *err)
{
	while (!loop->stop)
		if (loop_once(loop, -1, err) < 0)
			return -1;
	loop->stop = false;
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->stop = true;
}
