/* SPDX-License-Identifier: MIT */
/* Gives up everything that the daemon does not need; base/isolate.h has the stages. */
#ifndef NETGATE_CONFINE_H
#define NETGATE_CONFINE_H

#include "base/error.h"
#include "base/platform/linux/isolate.h"

/* Goes through all stages. If namespaces are not available, fails with ERR_UNAVAILABLE; if
 * unconfined is set, it goes on without namespaces instead and puts the reason into *no_namespaces.
 * Otherwise the code of *no_namespaces is ERR_NONE. */
int confine(const struct isolate_identity *identity, bool unconfined, struct error *no_namespaces,
	    struct error *err);

#endif
