/* SPDX-License-Identifier: MIT */
/*
 * An exec that outlives its connection. It has an id; what it writes is counted and kept until the
 * client has acknowledged it; and what it has taken of its stdin is counted too. So a client whose
 * connection broke attaches anew and neither side loses or doubles a byte.
 *
 *   attached   a call of some connection is its client; when another client attaches, that one is
 *              told and the newest has it: the older connection is most likely a broken one of the
 *              same client's that the agent has not noticed yet
 *   detached   the grace time runs. The command goes on; when the ring is full of what nobody has
 *              acknowledged, it waits in its write(): nothing is ever dropped. It may end; its exit
 *              and the rest of its output stay here. After the grace time all of it is gone, and
 *              what still runs is killed with its whole tree
 *
 * It is over for good when the client releases it.
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
/* Starts what the request asks for; a call on the connection is its client. */
int resumable_start(struct resumables *all, struct conn *conn, const struct request *request,
		    struct error *err);
/* Makes a call on the connection its client, from the offsets on that the request names. When there
 * is no such exec, or one of them was acknowledged already or is behind all output, the client is
 * told that it is not attached. */
int resumable_attach(struct resumables *all, struct conn *conn, const struct request *request,
		     struct error *err);

void resumables_sweep(struct resumables *all); /* between rounds of the loop */
void resumables_free(struct resumables *all);  /* kills what runs */

#endif
