/* SPDX-License-Identifier: MIT */
/* What is known of who may be reached by name: the list, and what has been heard so far. */
#ifndef NETGATE_EGRESS_H
#define NETGATE_EGRESS_H

#include "netgate/asked.h"
#include "netgate/names.h"
#include "netgate/openings.h"
#include "netgate/pins.h"

struct egress {
	bool by_address; /* a connection's first words are not looked at */
	bool dry;	 /* what would be refused is only told */
	struct names names;
	struct asked asked;
	struct pins pins;
	struct openings openings;
	uint64_t asked_at, credit_ns; /* of questions: the latest, and what is left to ask by */
};

#endif
