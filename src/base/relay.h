/* SPDX-License-Identifier: MIT */
/*
 * Joins two connected stream sockets into one connection. The relay passes on bytes in both
 * directions, and passes on the end of each direction separately (half-close). An error on one
 * socket resets the other socket, so that a broken connection never looks like a complete one. At
 * most LIMIT_RELAY_BYTES bytes wait in the relay for a slow reader.
 */
#ifndef BASE_RELAY_H
#define BASE_RELAY_H

#include "base/error.h"
#include "base/loop.h"

struct relay;

/* A function that is called once, by the loop, when the connection is over. The function must free
 * the relay. */
typedef void relay_ended_fn(void *data);

/* Makes a relay between the sockets `a` and `b`. The relay closes both sockets, also if this
 * function fails. */
struct relay *relay_new(struct loop *loop, int a, int b, relay_ended_fn *ended, void *data,
			struct error *err);
/* Sets a time limit for the last bytes from a socket (`side` 0: a, 1: b). If the peer of this
 * socket has closed it, and the other socket has accepted none of its last bytes for
 * LIMIT_RELAY_GONE_MS, these bytes are dropped and the connection is reset. The limit is needed if
 * the other peer can learn only from the relay that this peer is gone. Without this call the bytes
 * are kept as long as the other peer is connected. */
void relay_hurry(struct relay *relay, int side);
/* Closes both sockets. If the connection was not complete, TCP sockets are reset. Accepts NULL. */
void relay_free(struct relay *relay);

#endif
