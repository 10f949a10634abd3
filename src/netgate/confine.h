/* SPDX-License-Identifier: MIT */
/* How the daemon gives up what it does not need; base/isolate.h has the stages. */
#ifndef NETGATE_CONFINE_H
#define NETGATE_CONFINE_H

#include "base/error.h"
#include "base/platform/linux/isolate.h"

/* All stages. Where namespaces are not to be had it is ERR_UNAVAILABLE, or if unconfined goes on
 * without them, and *no_namespaces says why; its code is ERR_NONE otherwise. */
int confine(const struct isolate_identity *identity, bool unconfined, struct error *no_namespaces,
	    struct error *err);

#endif
