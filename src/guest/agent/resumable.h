/* SPDX-License-Identifier: MIT */
/*
 * Execs that continue when their connection ends. Each exec has an id. The bytes of an exec's
 * output are counted, and are kept until the client has acknowledged them. The bytes of stdin that
 * the command has read are also counted. So a client whose connection broke can attach again, and
 * each byte of output and of stdin arrives exactly once. An exec has two states:
 *
 *   attached   The exec has a client, which is a call on a connection. If another client attaches,
 *              the newest client gets the exec, and the older client gets a message. Most likely
 *              both are the same client, and the agent has not noticed yet that the older
 *              connection is broken.
 *   detached   The exec has no client, and the grace time runs. The command continues. If the ring
 *              is full of bytes that were not acknowledged, the command waits in its write(), so
 *              that no output is dropped. If the command exits, its exit code and its output are
 *              kept. After the grace time they are dropped, and a command that still runs is
 *              killed with all its descendants.
 *
 * When the client releases an exec, the exec ends for good.
 */
#ifndef GUEST_RESUMABLE_H
#define GUEST_RESUMABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "guest/agent/call.h"
#include "guest/agent/exec.h"
#include "guest/agent/ring.h"

struct resumables {
	struct exec_context *context;
	struct list list; /* all resumable execs, newest first */
	size_t count;
	/* Some execs have neither a client nor a timer for their grace time, because there was no
	 * memory for a timer. The next resumables_sweep() ends these execs. */
	bool doomed;
	struct ring_pool pool;
};

void resumables_init(struct resumables *all, struct exec_context *context);
/* Starts the command of the request as a resumable exec. The connection gets a new call, which is
 * the client of the exec. */
int resumable_start(struct resumables *all, struct conn *conn, const struct request *request,
		    struct error *err);
/* Attaches the connection to an existing exec, with a new call. The client gets the output from the
 * offsets that the request names. If there is no such exec, the client is told that it is not
 * attached. The client is told the same if the output at an offset was acknowledged already, or
 * does not exist yet. */
int resumable_attach(struct resumables *all, struct conn *conn, const struct request *request,
		     struct error *err);

/* Ends the execs that have neither a client nor a timer for their grace time. Must be called
 * between two rounds of the event loop. */
void resumables_sweep(struct resumables *all);
void resumables_free(struct resumables *all); /* also kills the commands that still run */

#endif
