/* SPDX-License-Identifier: MIT */
/* The agent's side of the tracer: the process of the tracer, and its messages to the host. */
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
	int fd; /* the socket to the tracer; -1: there is no tracer, or it has ended */
	/* The tracer's message about what is traced. NULL: the message has not come yet. */
	char *status;
	bool works; /* the tracer works: the kernel records the processes that have a login uid */
	bool told;  /* the tracer's status was sent to the host */
	bool finishing;
	struct proc proc;
	/* Called when the agent knows what can be traced. */
	void (*known)(void *data);
	void *data;
	/* Called when the tracer's records are in the control stream. NULL: no caller waits for
	 * this. */
	void (*settled)(void *data);
	void *settled_data;
};

/* Runs run(out) in a child process, and calls known() when the agent knows what can be traced. If
 * no child process can be started, nothing is traced. In this case known() may be called before
 * this function returns. */
void telemetry_begin(struct telemetry *telemetry, struct loop *loop, struct framed *control,
		     void (*run)(int out), void (*known)(void *data), void *data);
/* Begins to send the tracer's status and then its records to the host. Called when the host is
 * ready for records. */
void telemetry_tell(struct telemetry *telemetry);
/* Makes the tracer send all its present records, and calls settled() when these are in the control
 * stream. Calls settled() at once if there is no tracer. */
void telemetry_settle(struct telemetry *telemetry, void (*settled)(void *data), void *data);
/* Sends no more records until telemetry_tell() is called. Called when a new host serves the
 * machine, which is not ready for records yet. */
void telemetry_hold(struct telemetry *telemetry);
/* Continues to send messages. Called when the control stream has room again. */
void telemetry_go_on(struct telemetry *telemetry);
/* Makes the tracer send its last records and exit. After that, telemetry_is_over() returns true.
 * Must be called when no command runs any more. */
void telemetry_finish(struct telemetry *telemetry);
bool telemetry_is_over(const struct telemetry *telemetry);
void telemetry_free(struct telemetry *telemetry); /* accepts a struct whose members are all 0 */

#endif
