/* SPDX-License-Identifier: MIT */
/* The state of the judgement by names: the list of names, and the facts that netgate has learnt
 * from DNS and from connections. */
#ifndef NETGATE_EGRESS_H
#define NETGATE_EGRESS_H

#include "netgate/asked.h"
#include "netgate/names.h"
#include "netgate/openings.h"
#include "netgate/pins.h"

struct egress {
	bool by_address; /* the first bytes of connections are not judged, only their addresses */
	bool dry;	 /* a dry run: frames that would be refused pass, and are only reported */
	struct names names;
	struct asked asked;
	struct pins pins;
	struct openings openings;
	/* The limit on questions. asked_at is the time in ns of the latest question. credit_ns is
	 * the credit for further questions. The credit grows with time, and each question uses a
	 * part of the credit. */
	uint64_t asked_at, credit_ns;
};

#endif
