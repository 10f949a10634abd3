/* SPDX-License-Identifier: MIT */
/*
 * The run config's command. Its result goes to the host once, over the control stream, with the
 * first bytes of each stream. With `attach` the command starts when a client attaches, and streams
 * to that client. If the client goes away, the command runs on, and its output beyond the kept
 * bytes is dropped. If the workload has a client, its result is held back until the client has been
 * told the exit and has closed its connection, so that the host does not end the machine before the
 * last bytes are out.
 *
 *   NONE     no command in the config
 *   WAITING  for a client to attach
 *   RUNNING
 *   HELD     ended; the client has been told and has not closed yet
 *   OVER     the result has been handed over
 */
#ifndef GUEST_WORKLOAD_H
#define GUEST_WORKLOAD_H

#include "guest/agent/call.h"
#include "guest/agent/exec.h"

enum workload_state {
	WORKLOAD_NONE,
	WORKLOAD_WAITING,
	WORKLOAD_RUNNING,
	WORKLOAD_HELD,
	WORKLOAD_OVER
};

struct workload {
	struct exec_context *context;
	enum workload_state state;
	struct request request; /* borrows from the config */
	size_t keep;		/* bytes of each stream for the result */
	struct captured kept;
	struct job *job;
	struct call *client;
	struct job_end end;
	struct loop_watch *hold;
	/* Takes over the result as JSON text (NULL: no memory). */
	void (*result)(void *data, char *text);
	void *data;
};

/* Starts the command, or lets it wait for a client. Takes over the request's contents. */
void workload_begin(struct workload *workload, struct request *request, bool attach, size_t keep);
/* Makes the connection the client of the command by a call on it, and starts the command if it
 * waits. The exit, or a failure to start, is told to the call. Fails with ERR_CONFLICT if there is
 * no command, it is over, or it has a client. */
int workload_attach(struct workload *workload, struct conn *conn, const struct request *request,
		    struct error *err);
/* Hands over a held result now, because the machine is about to end. */
void workload_release(struct workload *workload);
void workload_free(struct workload *workload);

#endif
