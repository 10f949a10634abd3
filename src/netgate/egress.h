/* SPDX-License-Identifier: MIT */
/* What netgate knows of the hosts that may be reached by name: the list, and what it has heard so
 * far. */
#ifndef NETGATE_EGRESS_H
#define NETGATE_EGRESS_H

#include "netgate/asked.h"
#include "netgate/names.h"
#include "netgate/openings.h"
#include "netgate/pins.h"

struct egress {
	bool by_address; /* a connection's first words are not looked at */
	bool dry;	 /* frames that would be refused are only told of, and pass */
	struct names names;
	struct asked asked;
	struct pins pins;
	struct openings openings;
	uint64_t asked_at, credit_ns; /* limit on questions: the latest one, and credit for more */
};

#endif
