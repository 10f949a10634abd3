/* SPDX-License-Identifier: MIT */
/*
 * Two connected stream sockets joined into one connection: bytes both ways, each way's end handed
 * on by itself (half-close), and what broke one side resets the other, so that a cut connection is
 * never taken for a whole one. At most LIMIT_RELAY_BYTES are held each way, and none while nobody
 * is slow.
 */
#ifndef BASE_RELAY_H
#define BASE_RELAY_H

#include "base/error.h"
#include "base/loop.h"

struct relay;

/* The connection is over. Called from the loop, once; the callee frees the relay. */
typedef void relay_ended_fn(void *data);

/* a and b become the relay's own, also on failure. */
struct relay *relay_new(struct loop *loop, int a, int b, relay_ended_fn *ended, void *data,
			struct error *err);
/* What side (0: a, 1: b) has said last is dropped when it is gone and nobody has taken any of it
 * for LIMIT_RELAY_GONE_MS: for a far side that hears of an end in no other way. Else it is held for
 * as long as the far side is there. */
void relay_hurry(struct relay *relay, int side);
/* Closes both; what was not over yet is reset. Accepts NULL. */
void relay_free(struct relay *relay);

#endif
