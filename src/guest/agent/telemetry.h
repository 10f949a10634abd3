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
	int fd;	      /* the socket to the tracer; -1: there is no tracer, or it has ended */
	char *status; /* the tracer's message that says what is traced; NULL: not known yet */
	bool works;   /* the kernel records the processes that have a login uid */
	bool told;    /* the status was sent to the host */
	bool finishing;
	struct proc proc;
	/* Called when it is known what can be traced. */
	void (*known)(void *data);
	void *data;
	void (*settled)(void *data); /* NULL: no caller waits */
	void *settled_data;
};

/* Starts run(out) in a child, and calls known() when it is known what can be traced. If there is no
 * child, nothing is traced, and known() is called at once or later. */
void telemetry_begin(struct telemetry *telemetry, struct loop *loop, struct framed *control,
		     void (*run)(int out), void (*known)(void *data), void *data);
/* Begins to send the records to the host, which is ready for them. The status is sent first. */
void telemetry_tell(struct telemetry *telemetry);
/* Makes the tracer send the records that it has now, and calls settled() when they are in the
 * control stream. If there is no tracer, calls settled() at once. */
void telemetry_settle(struct telemetry *telemetry, void (*settled)(void *data), void *data);
/* Sends no more records until telemetry_tell(), since a new host serves the machine and is not
 * ready for them yet. */
void telemetry_hold(struct telemetry *telemetry);
/* Goes on, because the control stream takes more. */
void telemetry_go_on(struct telemetry *telemetry);
/* Makes the tracer send its last records and end. telemetry_is_over() is true when they are sent.
 * Called when no command runs any more. */
void telemetry_finish(struct telemetry *telemetry);
bool telemetry_is_over(const struct telemetry *telemetry);
void telemetry_free(struct telemetry *telemetry); /* accepts a zeroed struct */

#endif
