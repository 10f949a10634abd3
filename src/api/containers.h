/* SPDX-License-Identifier: MIT */
/*
 * A machine in which containers run. Only microagent-oci makes such a machine. No request of the
 * protocol can ask for such a machine, because no rule of shares applies to its directory: the
 * guest sees every file in the directory, and everything that is mounted there later.
 */
#ifndef API_CONTAINERS_H
#define API_CONTAINERS_H

#include "channel/calls.h"
#include "microagent.h"
#include "store/store.h"

#define CONTAINERS_LINKS_MAX 8

/* Creates a machine as microagent_create() does, but with an empty root file system in memory.
 * `seed` is the path of an empty archive, which becomes the machine's initrd; the file is made if
 * it is missing. `sandbox` becomes the machine's SANDBOX_RECORD (store/audit.h). */
int containers_create(struct microagent *agent, const char *name,
		      const struct microagent_spec *spec, const char *seed, const json_t *sandbox,
		      struct error *err);

/* The interfaces of a network namespace that the guest gets as its network cards. */
struct containers_links {
	const json_t *document;		/* {"interfaces":[..]}, as in oci/net/netns.h; NULL: no
					 * interfaces */
	int taps[CONTAINERS_LINKS_MAX]; /* a tap for each interface of `document` */
	size_t ntaps;
	/* A listening socket that accepts connections to any port. A connection to port P leads to
	 * port P of the guest. -1: no socket. */
	int loopback;
};

/* Starts the machine as microagent_start() does. `directory` is a descriptor of a directory in the
 * mount namespace of this process. In the guest, this directory is at CONTAINERS_MOUNTPOINT
 * (base/agent_wire.h). `number` is used where otherwise the supervisor's pid identifies the machine
 * on the host: if this process is in another pid namespace, this pid is not unique. While the
 * machine runs, no other machine of this host may have the same number. */
int containers_start(struct microagent *agent, const char *name, int directory,
		     const struct containers_links *links, pid_t number, struct error *err);

#endif
