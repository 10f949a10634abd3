/* SPDX-License-Identifier: MIT */
/*
 * The run config's command. Its result goes to the host once, over the control stream, with the
 * first bytes of each stream. With `attach` it starts when a client attaches and streams to it;
 * when that client goes away it runs on and what it writes beyond the kept bytes is dropped. The
 * result of a workload with a client is held back until the client has had the exit and closed its
 * connection, so that the host does not end the machine under the last bytes.
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
	/* Takes over the result's JSON (NULL: no memory). */
	void (*result)(void *data, char *text);
	void *data;
};

/* Starts it, or lets it wait for a client. The request is moved in. */
void workload_begin(struct workload *workload, struct request *request, bool attach, size_t keep);
/* Makes the connection its client by a call on it, starting it if it waits; the exit, or what went
 * wrong with the start, is told to the call. ERR_CONFLICT: there is none, it is over, or it has a
 * client. */
int workload_attach(struct workload *workload, struct conn *conn, const struct request *request,
		    struct error *err);
/* Hands over a held result now: the machine is about to end. */
void workload_release(struct workload *workload);
void workload_free(struct workload *workload);

#endif
