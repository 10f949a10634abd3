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
#include "guest/agent/request.h"
#include "guest/agent/ring.h"

struct resumables {
	struct exec_context *context;
	struct resumable *first;
	size_t count;
	bool doomed; /* some have neither a client nor a grace time: no memory for a timer */
	struct ring_pool pool;
};

/* Starts what the request asks for with call as its client. ERR_CONFLICT: an exec has that id. */
int resumable_start(struct resumables *all, struct call *call, const struct request *request,
		    struct error *err);
/* Makes call its client, from the offsets on that the request names. ERR_NOT_FOUND: no such exec;
 * ERR_UNAVAILABLE: an offset is before what was acknowledged; ERR_INVALID: behind all output. */
int resumable_attach(struct resumables *all, struct call *call, const struct request *request,
		     struct error *err);
/* The call is gone; the grace time begins. */
void resumable_detach(struct resumable *resumable);
/* The client needs it no more, nor its call: what still runs is killed. Both are freed. */
void resumable_release(struct resumable *resumable);

/* The client has everything before these offsets. ERR_INVALID: it cannot have. */
int resumable_ack(struct resumable *resumable, const uint64_t offsets[JOB_STREAMS],
		  struct error *err);
/* Takes all of it. ERR_INVALID: more than LIMIT_STDIN_WINDOW_BYTES are not yet with the command. */
int resumable_stdin(struct resumable *resumable, const void *bytes, size_t len, struct error *err);
void resumable_close_stdin(struct resumable *resumable);
/* The connection has room again. */
void resumable_push(struct resumable *resumable);
/* Whether the exit was said to the present client. */
bool resumable_is_told(const struct resumable *resumable);

void resumables_sweep(struct resumables *all); /* between rounds of the loop */
void resumables_free(struct resumables *all);  /* kills what runs */

#endif
