/* SPDX-License-Identifier: MIT */
/* The steps by which the daemon gives up what it does not need. isolate.c describes the stages. */
#ifndef VSOCKD_ISOLATE_H
#define VSOCKD_ISOLATE_H

#include "base/error.h"
#include "base/platform/linux/isolate.h"
#include "vsockd/core.h"

struct isolate_config {
	struct isolate_identity identity;
	bool unconfined; /* go on without namespaces if there are none */
	/* The sockets that must stay reachable: ports[i] belongs to targets[i], an absolute path of
	 * any length. isolate() sets ports[i].path to the path that connect() takes from inside;
	 * the path stays empty if there is no socket. */
	struct host_port *ports;
	const char *const *targets;
	unsigned nports;
};

/* Goes through all stages but the last. If namespaces are not available, fails with
 * ERR_UNAVAILABLE; if unconfined is set, it goes on without namespaces instead and puts the reason
 * into *no_namespaces. Otherwise the code of *no_namespaces is ERR_NONE. */
int isolate(const struct isolate_config *config, struct error *no_namespaces, struct error *err);
/* Goes through the last stage (seccomp.c): a system call that the event loop does not need then
 * kills the process. */
int isolate_to_loop(struct error *err);

#endif
