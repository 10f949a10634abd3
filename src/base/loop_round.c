/* SPDX-License-Identifier: MIT */
/* A round of the loop: wait, then call descriptors, signals and processes, then the due timers. */
#include <errno.h>

#include "base/clock.h"
#include "base/loop_watch.h"
#include "base/platform/waitable.h"

static int signal_came(struct loop_watch *w)
{
	int signal = signal_fd_take(w->fd);

	if (!signal)
		return 0; /* another watch of the same signal took it */
	w->fn.signal(w->loop, signal, w->data);
	return 1;
}

static int process_ended(struct loop_watch *w)
{
	struct loop *loop = w->loop;
	int code = 255;

	loop_remove(w); /* before proc_wait() closes the descriptor */
	if (proc_wait(w->proc, UINT64_MAX, &code, NULL) < 0)
		proc_end(w->proc); /* somebody else reaped it: the code is lost */
	w->fn.proc(loop, code, w->data);
	return 1;
}

static int call_watch(struct loop_watch *w, uint32_t events)
{
	if (w->dead)
		return 0;
	if (w->kind == KIND_SIGNAL)
		return signal_came(w);
	if (w->kind == KIND_PROC)
		return process_ended(w);
	/* What was asked for may have changed since poller_wait(). */
	events &= w->events | LOOP_ERR | LOOP_HUP;
	if (!events || !w->events)
		return 0;
	w->fn.fd(w->loop, w->fd, events, w->data);
	return 1;
}

static bool has_always_ready(const struct loop *loop)
{
	const struct loop_watch *w = loop->always_ready ? loop->watches : NULL;

	while (w && !(w->always_ready && (w->events & (LOOP_IN | LOOP_OUT))))
		w = w->next;
	return w;
}

static int call_always_ready(struct loop *loop)
{
	int called = 0;

	if (!loop->always_ready)
		return 0;
	for (struct loop_watch *w = loop->watches; w; w = w->next)
		if (w->always_ready)
			called += call_watch(w, w->events & (LOOP_IN | LOOP_OUT));
	return called;
}

static bool has_due_timer(const struct loop *loop)
{
	return loop->timers && loop->timers->deadline <= clock_mono_ns();
}

static int call_due_timers(struct loop *loop)
{
	struct loop_watch *w = loop->timers;
	uint64_t now = w ? clock_mono_ns() : 0;
	int called = 0;

	while (w && w->deadline <= now) {
		if (w->round == loop->round) { /* set in this very round */
			w = w->next;
			continue;
		}
		if (w->interval) {
			loop_take_out(w);
			/* Missed ones are not made up for. */
			w->deadline += w->interval;
			if (w->deadline <= now)
				w->deadline = now + w->interval;
			loop_insert_timer(w);
		} else {
			loop_remove(w);
		}
		w->fn.timer(loop, w->data);
		called++;
		w = loop->timers; /* the callback may have changed anything */
	}
	return called;
}

int loop_once(struct loop *loop, int timeout_ms, struct error *err)
{
	struct poller_event events[POLLER_EVENTS];
	uint64_t deadline = loop->timers ? loop->timers->deadline : UINT64_MAX;
	int n, called = 0;

	if (clock_is_virtual() || has_always_ready(loop) || has_due_timer(loop))
		timeout_ms = 0;
	n = poller_wait(loop->poller, events, timeout_ms, deadline);
	if (n < 0 && errno != EINTR)
		return error_errno(err, errno, "event loop");
	loop->depth++;
	loop->round++;
	for (int i = 0; i < n; i++)
		called += call_watch(events[i].data, events[i].events);
	called += call_always_ready(loop);
	called += call_due_timers(loop);
	if (--loop->depth == 0)
		loop_bury(loop);
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
