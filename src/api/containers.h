/* SPDX-License-Identifier: MIT */
/*
 * A machine that containers run in, as only microagent-oci may ask for it. No request of the
 * protocol can ask for it: the guest gets every file of a directory, unchanged, and everything that
 * is mounted there later.
 */
#ifndef API_CONTAINERS_H
#define API_CONTAINERS_H

#include "channel/calls.h"
#include "microagent.h"
#include "store/store.h"

#define CONTAINERS_LINKS_MAX 8

/* Creates a machine like microagent_create(), but with an empty root in memory. seed is a file that
 * is to be an empty archive, and it is made if it is missing. sandbox is the machine's
 * SANDBOX_RECORD (store/audit.h). */
int containers_create(struct microagent *agent, const char *name,
		      const struct microagent_spec *spec, const char *seed, const json_t *sandbox,
		      struct error *err);

/* The network cards of a machine, instead of a card of its own: {"interfaces":[..]} as
 * oci/net/netns.h has it, and a tap for each interface. */
struct containers_links {
	const json_t *document; /* NULL: none */
	int taps[CONTAINERS_LINKS_MAX];
	size_t ntaps;
	/* A listener; a connection to any port of it is led to that port of the guest. -1: none. */
	int loopback;
};

/* Starts the machine like microagent_start(). directory is open and in our mount namespace. The
 * guest has it at CONTAINERS_MOUNTPOINT (base/agent_wire.h). number must differ from that of every
 * other machine of this host at the same time. */
int containers_start(struct microagent *agent, const char *name, int directory,
		     const struct containers_links *links, pid_t number, struct error *err);

#endif
