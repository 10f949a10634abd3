/* SPDX-License-Identifier: MIT */
/* How the daemon gives up what it does not need. The stages are described in isolate.c. */
#ifndef VSOCKD_ISOLATE_H
#define VSOCKD_ISOLATE_H

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "vsockd/core.h"

struct isolate_config {
	struct isolate_identity identity;
	bool unconfined; /* also without namespaces */
	/* The sockets that are to be reached: ports[i] is that of targets[i], an absolute path of
	 * any length. ports[i].path is filled in with what connect() takes from inside; it stays
	 * empty if there is no socket. */
	struct host_port *ports;
	const char *const *targets;
	unsigned nports;
};

/* All stages but the last. Where namespaces are not to be had it is ERR_UNAVAILABLE, or if so asked
 * for goes on without them, and *no_namespaces says why; its code is ERR_NONE otherwise. */
int isolate(const struct isolate_config *config, struct error *no_namespaces, struct error *err);
/* The last stage (seccomp.c): a system call that the event loop does not need kills the process. */
int isolate_to_loop(struct error *err);

#endif
