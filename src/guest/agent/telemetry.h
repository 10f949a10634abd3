/* SPDX-License-Identifier: MIT */
/* The agent's side of the tracer: the tracer's process, and its messages on their way to the
 * host. */
#ifndef GUEST_TELEMETRY_H
#define GUEST_TELEMETRY_H

#include <stdbool.h>

#include "base/error.h"
#include "base/framed.h"
#include "base/loop.h"
#include "base/proc.h"

struct telemetry {
	struct loop *loop;
	struct framed *control;
	struct loop_watch *watch;
	int fd;	      /* -1: there is none, or it is over */
	char *status; /* what is traced, in the tracer's words; NULL: not known yet */
	bool works;   /* the kernel records the processes that have a login uid */
	bool told;    /* the status was sent to the host */
	bool finishing;
	struct proc proc;
	/* Called when it is known what can be traced. */
	void (*known)(void *data);
	void *data;
	void (*settled)(void *data); /* NULL: nobody waits */
	void *settled_data;
};

/* Starts run(out) in a child and later calls known. If there is no child, known is called at once
 * or later, and nothing is traced. */
void telemetry_begin(struct telemetry *telemetry, struct loop *loop, struct framed *control,
		     void (*run)(int out), void (*known)(void *data), void *data);
/* Begins to tell the host, which is ready for it; the status comes first. */
void telemetry_tell(struct telemetry *telemetry);
/* Makes the tracer tell what it has until now, and calls settled when that is in the control
 * stream; at once if there is no tracer. */
void telemetry_settle(struct telemetry *telemetry, void (*settled)(void *data), void *data);
/* Stops telling until telemetry_tell(): another host is to be told, and is not ready yet. */
void telemetry_hold(struct telemetry *telemetry);
/* Goes on, because the control stream takes more. */
void telemetry_go_on(struct telemetry *telemetry);
/* Makes the tracer tell the rest, after which telemetry_is_over() is true. Nothing of interest will
 * happen any more. */
void telemetry_finish(struct telemetry *telemetry);
bool telemetry_is_over(const struct telemetry *telemetry);
void telemetry_free(struct telemetry *telemetry); /* accepts a zeroed struct */

#endif
