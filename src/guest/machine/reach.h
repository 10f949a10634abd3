/* SPDX-License-Identifier: MIT */
/* The way from a published port to the program in the guest that listens on it. */
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

/* data: a struct reach_port, which stays the caller's. done is called once, from the loop. NULL: no
 * memory. */
void *reach_port(void *data, reached_fn *done, void *done_data, struct error *err);
void reach_give_up(void *attempt); /* before it is done */

/* The same of the port that the host says on fd first: two bytes in network order, behind which the
 * stream begins. fd stays the caller's; data: the loop. */
void *reach_told(void *data, int fd, reached_fn *done, void *done_data, struct error *err);
void reach_told_give_up(void *attempt);

#endif
