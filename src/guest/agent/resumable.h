/* SPDX-License-Identifier: MIT */
/*
 * Execs that go on when their connection ends. Each has an id. The output of an exec is counted,
 * and is kept until the client has acknowledged it. The bytes of stdin that the exec has taken are
 * counted too. So a client whose connection broke can attach again, and no byte is lost or comes
 * twice on either side.
 *
 *   attached   a call of some connection is its client; if another client attaches, the first
 *              client is told and the newest has the exec: the older connection is most likely a
 *              broken one of the same client that the agent has not noticed yet
 *   detached   the grace time runs. The command goes on; if the ring is full of bytes that nobody
 *              has acknowledged, the command waits in its write(): nothing is ever dropped. The
 *              command may end; its exit and the rest of its output stay here. After the grace time
 *              everything is dropped, and what still runs is killed with its whole tree
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
	struct list list; /* the newest first */
	size_t count;
	/* Some execs have neither a client nor a grace time, since there was no memory for a timer;
	 * they are ended at the next sweep. */
	bool doomed;
	struct ring_pool pool;
};

void resumables_init(struct resumables *all, struct exec_context *context);
/* Starts the command of the request as a resumable exec. A new call on the connection becomes its
 * client. */
int resumable_start(struct resumables *all, struct conn *conn, const struct request *request,
		    struct error *err);
/* Makes a call on the connection the client of an exec, from the offsets that the request names. If
 * there is no such exec, or if an offset was acknowledged already or is beyond all output, the
 * client gets a message that says that it is not attached. */
int resumable_attach(struct resumables *all, struct conn *conn, const struct request *request,
		     struct error *err);

/* Ends the execs that have neither a client nor a grace time. Must be called between rounds of the
 * loop. */
void resumables_sweep(struct resumables *all);
void resumables_free(struct resumables *all); /* kills the execs that still run */

#endif
