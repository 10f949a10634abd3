/* SPDX-License-Identifier: MIT */
/*
 * Inside of the loop, for loop.c and loop_round.c alone.
 *
 * Every watch is in exactly one list of the loop: timers by deadline, the others in any order. A
 * removed watch leaves its list at once and is marked dead, but its memory stays until the round is
 * over, since the round's array of events, or an iteration, may still point to it.
 */
#ifndef BASE_LOOP_WATCH_H
#define BASE_LOOP_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "base/platform/poller.h"

enum loop_kind { KIND_FD, KIND_TIMER, KIND_SIGNAL, KIND_PROC };

struct loop_watch {
	struct loop *loop;
	struct loop_watch *next, **link; /* *link is this watch while it lives */
	struct loop_watch *next_dead;
	enum loop_kind kind;
	bool dead;
	bool polled;	   /* in the poller's set */
	bool always_ready; /* a regular file: the poller refuses it, since it never blocks */
	int fd;		   /* the caller's, the process', or one of our own for the signal */
	uint32_t events;
	uint64_t deadline;
	uint64_t interval; /* 0: fires once */
	uint64_t round;	   /* a timer set during a round does not fire in it */
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
	unsigned always_ready; /* watches of that kind */
	uint64_t round;
	int depth; /* of loop_once() calls */
	bool stop;
};

void loop_insert_timer(struct loop_watch *w);
/* Out of its list; w->next stays as it was, so that an iteration that stands on w can go on. */
void loop_take_out(struct loop_watch *w);
/* Frees the dead; only between rounds. */
void loop_bury(struct loop *loop);

#endif
