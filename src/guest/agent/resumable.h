/* SPDX-License-Identifier: MIT */
/*
 * An exec that goes on when its connection ends. It has an id. Its output is counted, and kept
 * until the client has acknowledged it. The bytes of stdin that it has taken are counted too. So a
 * client whose connection broke can attach again, and no byte is lost or comes twice on either
 * side.
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
	bool doomed; /* some have neither a client nor a grace time: no memory for a timer */
	struct ring_pool pool;
};

void resumables_init(struct resumables *all, struct exec_context *context);
/* Starts what the request asks for. A call on the connection becomes its client. */
int resumable_start(struct resumables *all, struct conn *conn, const struct request *request,
		    struct error *err);
/* Makes a call on the connection the client of an exec, from the offsets that the request names.
 * The client is told that it is not attached if there is no such exec, or if an offset was
 * acknowledged already or is beyond all output. */
int resumable_attach(struct resumables *all, struct conn *conn, const struct request *request,
		     struct error *err);

void resumables_sweep(struct resumables *all); /* to be called between rounds of the loop */
void resumables_free(struct resumables *all);  /* kills what runs */

#endif
