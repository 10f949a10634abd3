/* SPDX-License-Identifier: MIT */
/* The command line: descriptors, addresses, opened prefixes. */
#ifndef NETGATE_SETTINGS_H
#define NETGATE_SETTINGS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "netgate/egress.h"

struct settings {
	bool help, version;			      /* to be told: nothing else is to be done */
	bool unconfined;			      /* also without namespaces */
	int vm_fd, passt_fd, supervisor_fd, lease_fd; /* -1: not given */
	int bridge_fd;				      /* -1: there is a filter */
	uint64_t bytes_per_second;		      /* 0: no limit */
	struct isolate_identity identity;
	struct screen *screen; /* the guest's addresses and prefixes are filled in */
	struct egress *egress; /* and names and how they are gone by */
};

int settings_parse(struct settings *settings, int argc, char **argv, struct error *err);
void settings_help(void); /* on stdout */

#endif
