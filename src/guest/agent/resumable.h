/* SPDX-License-Identifier: MIT */
/*
 * Execs that go on when their connection ends. Each has an id. The bytes of an exec's output are
 * counted, and are kept until the client has acknowledged them. The bytes of stdin that the exec
 * has taken are also counted. So a client whose connection broke can attach again, and no byte is
 * lost or comes twice in either direction. An exec has two states:
 *
 *   attached   A call on a connection is the client of the exec. If another client attaches, the
 *              newest client gets the exec, and the older client is told. Most likely both are the
 *              same client, and the agent has not noticed yet that the older connection is broken.
 *   detached   The exec has no client, and the grace time runs. The command goes on. If the ring
 *              is full of bytes that were not acknowledged, the command waits in its write(), so
 *              that no output is dropped. If the command ends, its exit and its output are kept.
 *              After the grace time they are dropped, and a command that still runs is killed with
 *              all its descendants.
 *
 * An exec is over for good when the client releases it.
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
