/* SPDX-License-Identifier: MIT */
/* The gate: the running filter, with two lanes between the VMM and passt. The supervisor sends the
 * host's addresses to the gate, and the gate tells the supervisor of connections. All state of the
 * gate is in struct gate; no other memory is allocated. */
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
	MESSAGE_HOST = 'h',  /* the message has the host's prefixes */
	MESSAGE_ALLOW = 'a', /* the message is the text of a rule for names or of a prefix, which is
			      * added */
	MESSAGE_DENY = 'd'   /* the message is the text of a rule for names or of a prefix, which is
			      * removed */
};

struct gate {
	/* The gate's descriptors. passt is -1 if the guest's network leads nowhere. */
	int vm, passt, supervisor;
	uint64_t now; /* time in ns when the present round of gate_run() began */
	struct screen screen;
	struct egress egress;
	struct flows flows;
	struct teller teller;
	struct refusals refusals;
	struct lane out, in; /* out: frames from the guest; in: frames to the guest */
	struct bucket out_rate, in_rate;
};

/* Prepares a gate. The caller has filled in gate->screen. `bytes_per_second` is the limit of each
 * direction; 0: no limit. */
void gate_init(struct gate *gate, int vm, int passt, int supervisor, uint64_t bytes_per_second);
/* Sends the guest an answer to a refused frame (refusal_answer()), unless too many answers were
 * sent in this second. */
void gate_answer_refused(struct gate *gate, const uint8_t *frame, size_t len);
/* Runs the filter until the VMM or passt closes its connection. */
int gate_run(struct gate *gate, struct error *err);

#endif
