/* SPDX-License-Identifier: MIT */
/* The steps by which the daemon gives up the rights and descriptors that it does not need.
 * isolate.c describes the stages. */
#ifndef VSOCKD_ISOLATE_H
#define VSOCKD_ISOLATE_H

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "vsockd/core.h"

struct isolate_config {
	struct isolate_identity identity;
	bool unconfined; /* if namespaces cannot be made, isolate() succeeds without them */
	/* The sockets that must stay reachable. targets[i] is the absolute path, of any length, of
	 * the socket of ports[i]. isolate() sets ports[i].path to a path by which connect() reaches
	 * the socket after the isolation. If the socket does not exist, ports[i].path stays
	 * empty. */
	struct host_port *ports;
	const char *const *targets;
	unsigned nports;
};

/* Goes through all stages except the last. ERR_UNAVAILABLE: namespaces cannot be made. If
 * config->unconfined is set, the function goes on without namespaces instead, and stores the reason
 * in *no_namespaces. If there are namespaces, the code of *no_namespaces is ERR_NONE. */
int isolate(const struct isolate_config *config, struct error *no_namespaces, struct error *err);
/* Goes through the last stage (seccomp.c). From then on the kernel kills the process at any system
 * call that the event loop does not need. */
int isolate_to_loop(struct error *err);

#endif
