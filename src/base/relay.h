/* SPDX-License-Identifier: MIT */
/*
 * Joins two connected stream sockets into one connection. Bytes go both ways, and the end of each
 * direction is passed on by itself (half-close). An error on one side resets the other side, so
 * that a broken connection never looks like a complete one. At most LIMIT_RELAY_BYTES bytes wait in
 * the relay for a slow reader.
 */
#ifndef BASE_RELAY_H
#define BASE_RELAY_H

#include "base/error.h"
#include "base/loop.h"

struct relay;

/* A function that is called once, from the loop, when the connection is over. This function must
 * free the relay. */
typedef void relay_ended_fn(void *data);

/* Makes a relay between the sockets `a` and `b`, and takes them over, also on failure. */
struct relay *relay_new(struct loop *loop, int a, int b, relay_ended_fn *ended, void *data,
			struct error *err);
/* Sets a time limit for the last bytes of a side (0: a, 1: b). If this side is gone, and the other
 * side has taken none of its last bytes for LIMIT_RELAY_GONE_MS, these bytes are dropped and the
 * connection is reset. The limit is needed if the other side learns only from the relay that this
 * side is gone. Without this call the bytes are held for as long as the other side is connected. */
void relay_hurry(struct relay *relay, int side);
/* Closes both sides. If the connection was not complete, sides that are TCP sockets are reset.
 * Accepts NULL. */
void relay_free(struct relay *relay);

#endif
