/* SPDX-License-Identifier: MIT */
/* Reads the command line of netgate. */
#ifndef NETGATE_SETTINGS_H
#define NETGATE_SETTINGS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "netgate/egress.h"

struct settings {
	bool help, version; /* if one of the two is true, netgate only prints the help or the
			     * version, and ends */
	bool unconfined;    /* if no namespaces can be made, netgate goes on without them */
	int vm_fd, passt_fd, supervisor_fd, lease_fd; /* descriptors of the command line; -1: not
						       * given */
	/* A tap on the bridge, to which frames are relayed (relay.h); -1: frames are filtered. */
	int bridge_fd;
	uint64_t bytes_per_second; /* the limit of each direction, in bytes per second; 0: no
				    * limit */
	struct isolate_identity identity;
	struct screen *screen; /* the parser fills in the guest's addresses and the prefixes */
	struct egress *egress; /* the parser fills in the names and how they are applied */
};

int settings_parse(struct settings *settings, int argc, char **argv, struct error *err);
void settings_help(void); /* prints the help on stdout */

#endif
