/* SPDX-License-Identifier: MIT */
/*
 * The run config's command. Its result is sent to the host once, over the control stream, with the
 * first bytes of stdout and stderr. With `attach` the command starts when a client attaches, and
 * its output is sent to this client. If the client goes away, the command goes on, and only the
 * bytes for the result are kept of its output. If there is a client, the result is sent only when
 * the client was told the exit and has closed its connection, so that the host does not end the
 * machine before the client has the last bytes.
 *
 *   NONE     the config has no command
 *   WAITING  the command waits for a client
 *   RUNNING  the command runs
 *   HELD     the command has ended, and the client was told and has not closed its connection yet
 *   OVER     the result was sent
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
/* Makes a call on the connection, which becomes the command's client, and starts the command if it
 * waits for a client. The call sends the exit to the client, or the reason why the command could
 * not be started. ERR_CONFLICT: there is no command, it is over, or it has a client already. */
int workload_attach(struct workload *workload, struct conn *conn, const struct request *request,
		    struct error *err);
/* Sends a result that is held back for the client. Called when the machine will end. */
void workload_release(struct workload *workload);
void workload_free(struct workload *workload);

#endif
