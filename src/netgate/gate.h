/* SPDX-License-Identifier: MIT */
/* The filter at work: two lanes between the VM and passt, the addresses of the host that the
 * supervisor sends, and what the supervisor is told of connections. Everything is in this struct;
 * nothing is allocated. */
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

/* The first byte of each message that the supervisor sends. */
enum {
	MESSAGE_HOST = 'h',  /* the host's prefixes */
	MESSAGE_ALLOW = 'a', /* a rule of names or a prefix, as text */
	MESSAGE_DENY = 'd'   /* removes such a rule or prefix */
};

struct gate {
	int vm, passt, supervisor; /* descriptors; passt is -1 if the link leads nowhere */
	uint64_t now;		   /* when this round began, ns */
	struct screen screen;
	struct egress egress;
	struct flows flows;
	struct teller teller;
	struct refusals refusals;
	struct lane out, in; /* out: from the guest */
	struct bucket out_rate, in_rate;
};

/* Prepares a gate. The caller fills in the screen itself, the guest's address before this call.
 * bytes_per_second limits each direction; 0: no limit. */
void gate_init(struct gate *gate, int vm, int passt, int supervisor, uint64_t bytes_per_second);
/* Answers a refused frame of the guest with refusal_answer(), unless there were too many answers in
 * this second. */
void gate_answer_refused(struct gate *gate, const uint8_t *frame, size_t len);
/* Runs the filter until the VM or passt ends its connection. */
int gate_run(struct gate *gate, struct error *err);

#endif
