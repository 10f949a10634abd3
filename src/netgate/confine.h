/* SPDX-License-Identifier: MIT */
/* Gives up all rights that netgate does not need (base/platform/linux/isolate.h has the stages). */
#ifndef NETGATE_CONFINE_H
#define NETGATE_CONFINE_H

#include "base/error.h"
#include "base/platform/linux/isolate.h"

/* Goes through all stages. If no namespaces can be made and `unconfined` is false, fails with
 * ERR_UNAVAILABLE. If no namespaces can be made and `unconfined` is true, goes on without
 * namespaces, and stores the reason in *no_namespaces. In all other cases the code of
 * *no_namespaces is ERR_NONE. */
int confine(const struct isolate_identity *identity, bool unconfined, struct error *no_namespaces,
	    struct error *err);

#endif
