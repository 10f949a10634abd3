/* SPDX-License-Identifier: MIT */
/*
 * A machine that containers run in: what microagent-oci alone may ask for. No request can: what the
 * guest gets here is every file of a directory, as it is, with what is mounted there later.
 */
#ifndef API_CONTAINERS_H
#define API_CONTAINERS_H

#include "channel/calls.h"
#include "microagent.h"
#include "store/store.h"

#define CONTAINERS_LINKS_MAX 8

/* As microagent_create(), with an empty root in memory: seed is a file that is to be an empty
 * archive, made where it is missing. sandbox: its SANDBOX_RECORD (store/audit.h). */
int containers_create(struct microagent *agent, const char *name,
		      const struct microagent_spec *spec, const char *seed, const json_t *sandbox,
		      struct error *err);

/* A machine's cards, instead of one of its own: {"interfaces":[..]} as oci/net/netns.h has it, and
 * a tap for each. */
struct containers_links {
	const json_t *document; /* NULL: none */
	int taps[CONTAINERS_LINKS_MAX];
	size_t ntaps;
	int loopback; /* a listener: who connects to it, at whatever port, is led to that port of
		       * the guest; -1: none */
};

/* As microagent_start(). directory: open, in the mount namespace that we are in; the guest has it
 * at CONTAINERS_MOUNTPOINT (base/agent_wire.h). number: none that another machine of this host has
 * at the same time. */
int containers_start(struct microagent *agent, const char *name, int directory,
		     const struct containers_links *links, pid_t number, struct error *err);

#endif
