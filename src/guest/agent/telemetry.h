/* SPDX-License-Identifier: MIT */
/* The agent's side of the tracer: its process, and its messages on their way to the host. */
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
	int fd;	      /* -1: not there, or over */
	char *status; /* what is traced, as the tracer said it; NULL: not known yet */
	bool works;   /* the kernel records what has a login uid */
	bool told;    /* the status is with the host */
	bool finishing;
	struct proc proc;
	/* It is known what can be traced. */
	void (*known)(void *data);
	void *data;
	void (*settled)(void *data); /* NULL: nobody waits for it */
	void *settled_data;
};

/* Starts run(out) in a child. Without a child what is `known`, at once or later, is that nothing is
 * traced. */
void telemetry_begin(struct telemetry *telemetry, struct loop *loop, struct framed *control,
		     void (*run)(int out), void (*known)(void *data), void *data);
/* The host is ready to be told; the status first. */
void telemetry_tell(struct telemetry *telemetry);
/* Has the tracer tell what it has until now, and hears when that is with the control stream; at
 * once where there is no tracer. */
void telemetry_settle(struct telemetry *telemetry, void (*settled)(void *data), void *data);
/* Another host is to be told, and is not ready for it. */
void telemetry_hold(struct telemetry *telemetry);
/* The control stream takes more. */
void telemetry_go_on(struct telemetry *telemetry);
/* Nothing of interest will happen any more: the tracer tells the rest, and is_over after that. */
void telemetry_finish(struct telemetry *telemetry);
bool telemetry_is_over(const struct telemetry *telemetry);
void telemetry_free(struct telemetry *telemetry); /* accepts a zeroed one */

#endif
