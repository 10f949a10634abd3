/* SPDX-License-Identifier: MIT */
/* Connects to the program in the guest that listens on a published port. */
#ifndef GUEST_REACH_H
#define GUEST_REACH_H

#include <stdint.h>

#include "base/connecting.h"
#include "base/error.h"
#include "base/loop.h"

struct reach_port {
	struct loop *loop;
	uint16_t number;
};

/* Begins to connect to a program. `data` is a struct reach_port, which the caller must keep until
 * done() is called. Calls done() once, from the event loop. Returns NULL if there is no memory. */
void *reach_port(void *data, reached_fn *done, void *done_data, struct error *err);
void reach_give_up(void *attempt); /* ends an attempt; must not be called after done() */

/* Begins to connect to a TCP port that the host names. The host sends the number of the port on
 * `fd`, as two bytes in network byte order, before the bytes of the stream. The caller closes `fd`.
 * `data` is the event loop. Calls done() once. */
void *reach_told(void *data, int fd, reached_fn *done, void *done_data, struct error *err);
void reach_told_give_up(void *attempt);

#endif
