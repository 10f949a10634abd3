/* SPDX-License-Identifier: MIT */
/*
 * Joins two connected stream sockets into one connection: bytes go both ways, and the end of each
 * direction is passed on by itself (half-close). An error on one side resets the other, so that a
 * broken connection never looks like a complete one. At most LIMIT_RELAY_BYTES are held each way,
 * and none while no reader is slow.
 */
#ifndef BASE_RELAY_H
#define BASE_RELAY_H

#include "base/error.h"
#include "base/loop.h"

struct relay;

/* Called from the loop, once, when the connection is over. The called function frees the relay. */
typedef void relay_ended_fn(void *data);

/* Makes a relay, which takes over a and b, also on failure. */
struct relay *relay_new(struct loop *loop, int a, int b, relay_ended_fn *ended, void *data,
			struct error *err);
/* Sets a time limit for the last bytes of a side (0: a, 1: b): when this side is gone and the other
 * has taken none of them for LIMIT_RELAY_GONE_MS, they are dropped. This is for a far side that
 * hears of an end in no other way. Otherwise the bytes are held for as long as the far side is
 * there. */
void relay_hurry(struct relay *relay, int side);
/* Closes both sides; a direction that was not over yet is reset. Accepts NULL. */
void relay_free(struct relay *relay);

#endif
