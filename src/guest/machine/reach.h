/* SPDX-License-Identifier: MIT */
/* Connects to the program in the guest that listens at a published port. */
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

/* Begins to connect to a program. `data` is a struct reach_port, which the caller keeps. `done` is
 * called once, from the loop. Returns NULL if there is no memory. */
void *reach_port(void *data, reached_fn *done, void *done_data, struct error *err);
void reach_give_up(void *attempt); /* ends an attempt; must not be called after done() */

/* Begins to connect to a port that the host names. The host sends the port's number on `fd`, as two
 * bytes in network order before the bytes of the stream. The caller closes `fd`. `data` is the
 * loop. */
void *reach_told(void *data, int fd, reached_fn *done, void *done_data, struct error *err);
void reach_told_give_up(void *attempt);

#endif
