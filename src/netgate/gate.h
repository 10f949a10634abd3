/* SPDX-License-Identifier: MIT */
/* The filter at work: two lanes between the VM and passt, what the supervisor tells of the host's
 * addresses, and what it is told of connections. Everything is in this struct; nothing is
 * allocated. */
#ifndef NETGATE_GATE_H
#define NETGATE_GATE_H

#include <stdint.h>

#include "base/error.h"
#include "netgate/bucket.h"
#include "netgate/egress.h"
#include "netgate/flows.h"
#include "netgate/lane.h"
#include "netgate/refusal.h"
#include "netgate/screen.h"
#include "netgate/tell.h"

/* The first byte of each message of the supervisor's. */
enum {
	MESSAGE_HOST = 'h',  /* the host's prefixes */
	MESSAGE_ALLOW = 'a', /* a rule of names or a prefix, as text */
	MESSAGE_DENY = 'd'   /* the same is taken off */
};

struct gate {
	int vm, passt, supervisor; /* passt -1: the link leads nowhere */
	uint64_t now;		   /* when this round began, ns */
	struct screen screen;
	struct egress egress;
	struct flows flows;
	struct teller teller;
	struct refusals refusals;
	struct lane out, in; /* out: of the guest */
	struct bucket out_rate, in_rate;
};

/* The screen is the caller's to fill in, before and beside this. bytes_per_second: each way; 0: no
 * limit. */
void gate_init(struct gate *gate, int vm, int passt, int supervisor, uint64_t bytes_per_second);
/* A guest that asks for more than goes through is answered with a reset, if that is TCP. */
void gate_answer_refused(struct gate *gate, const uint8_t *frame, size_t len);
/* Until the VM or passt ends its connection. */
int gate_run(struct gate *gate, struct error *err);

#endif
