/* SPDX-License-Identifier: MIT */
/* The set of watches; loop_round.c calls them. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/loop_watch.h"
#include "base/platform/waitable.h"

static void insert_watch(struct loop_watch **link, struct loop_watch *w)
{
	w->next = *link;
	w->link = link;
	if (w->next)
		w->next->link = &w->next;
	*link = w;
}

void loop_insert_timer(struct loop_watch *w)
{
	struct loop_watch **link = &w->loop->timers;

	while (*link && (*link)->deadline <= w->deadline)
		link = &(*link)->next;
	w->round = w->loop->round;
	insert_watch(link, w);
}

/* w->next stays as it was, so that an iteration that stands on w can go on. */
void loop_take_out(struct loop_watch *w)
{
	*w->link = w->next;
	if (w->next)
		w->next->link = w->link;
}

void loop_bury(struct loop *loop)
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
	loop_bury(loop);
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

/* A watch that waits for nothing leaves the set: LOOP_HUP would be reported to it all the same,
 * and the loop would spin. */
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
	loop_insert_timer(w);
	return w;
}

struct loop_watch *loop_add_interval(struct loop *loop, uint64_t interval_ns, loop_timer_fn *fn,
				     void *data, struct error *err)
{
	struct loop_watch *w;

	if (interval_ns == 0) {
		error_set(err, ERR_INVALID, "an interval of 0");
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
	/* It stays blocked when the watch is removed: one that comes late must not kill us. */
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
	/* Fails only if the owner closed the descriptor first; then it has left the set already. */
	if (w->polled)
		poller_set(w->loop->poller, w->fd, w->events, 0, NULL);
	if (w->kind == KIND_SIGNAL)
		close(w->fd);
	loop_take_out(w);
	w->loop->always_ready -= w->always_ready;
	w->dead = true;
	w->next_dead = w->loop->dead;
	w->loop->dead = w;
	if (w->loop->depth == 0)
		loop_bury(w->loop);
}
