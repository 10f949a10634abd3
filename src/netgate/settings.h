/* SPDX-License-Identifier: MIT */
/* The command line: descriptors, addresses, opened prefixes. */
#ifndef NETGATE_SETTINGS_H
#define NETGATE_SETTINGS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "netgate/egress.h"

struct settings {
	bool help, version;			      /* only print this */
	bool unconfined;			      /* go on without namespaces */
	int vm_fd, passt_fd, supervisor_fd, lease_fd; /* -1: not given */
	int bridge_fd;				      /* the bridge's tap (relay.h); -1: filter */
	uint64_t bytes_per_second;		      /* 0: no limit */
	struct isolate_identity identity;
	struct screen *screen; /* the parser fills in the guest's addresses and the prefixes */
	struct egress *egress; /* the parser fills in the names and how they are applied */
};

int settings_parse(struct settings *settings, int argc, char **argv, struct error *err);
void settings_help(void); /* on stdout */

#endif
