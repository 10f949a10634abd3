/* SPDX-License-Identifier: MIT */
/*
 * The run config's command, which is called the workload. The result of the workload is sent to the
 * host once, over the control stream. The result has the first bytes of stdout and stderr.
 *
 * If the config has `attach`, the command starts when a client attaches, and its output is sent to
 * this client. If the client goes away, the command continues, and only the output bytes for the
 * result are kept. While there is a client, the result is not sent before the client has got the
 * exit code and has closed its connection. Otherwise the host could end the machine before the
 * client has got the last bytes. The states of the command:
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
	struct request request; /* the command; its strings belong to the config */
	/* How many bytes of each output stream are kept for the result. */
	size_t keep;
	struct captured kept;
	struct job *job;
	struct call *client;
	struct job_end end;
	struct loop_watch *hold;
	/* Sends `text`, which is the result as JSON, and frees it. NULL means that there was no
	 * memory for the text. */
	void (*result)(void *data, char *text);
	void *data;
};

/* Starts the command. If `attach` is true, the command starts only when a client attaches. Takes
 * ownership of the request's contents. `keep` is the largest number of bytes of each output stream
 * in the result. */
void workload_begin(struct workload *workload, struct request *request, bool attach, size_t keep);
/* Attaches the client of the connection to the command, with a new call. Starts the command if it
 * waits for a client. The client gets the exit code of the command, or the reason why the command
 * could not be started. Fails with ERR_CONFLICT if there is no command, if the command is over, or
 * if it has a client already. */
int workload_attach(struct workload *workload, struct conn *conn, const struct request *request,
		    struct error *err);
/* Sends the result if it was not sent yet because the client is still connected. Called when the
 * machine is about to end. */
void workload_release(struct workload *workload);
void workload_free(struct workload *workload);

#endif
