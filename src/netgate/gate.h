/* SPDX-License-Identifier: MIT */
/* The filter at work: two lanes between the VM and passt, what the supervisor tells of the host's
 * addresses, and what it is told of connections. Everything is in this struct; nothing is
 * allocated. */
#ifndef NETGATE_GATE_H
#define NETGATE_GATE_H

#include <stdint.h>

#include "base/error.h"
#include "netgate/bucket.h"
#include "netgate/flows.h"
#include "netgate/lane.h"
#include "netgate/reset.h"
#include "netgate/screen.h"
#include "netgate/tell.h"

struct gate {
	int vm, passt, supervisor; /* passt -1: the link leads nowhere */
	struct screen screen;
	struct flows flows;
	struct teller teller;
	struct resets resets;
	struct lane out, in; /* out: of the guest */
	struct bucket out_rate, in_rate;
};

/* The screen is the caller's to fill in, before and beside this. bytes_per_second: each way; 0: no
 * limit. */
void gate_init(struct gate *gate, int vm, int passt, int supervisor, uint64_t bytes_per_second);
/* Until the VM or passt ends its connection. */
int gate_run(struct gate *gate, struct error *err);

#endif
