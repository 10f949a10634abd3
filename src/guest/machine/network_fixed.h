/* SPDX-License-Identifier: MIT */
/*
 * Cards that are to be as links of the host's were, in which case the run config's "network" has
 * "interfaces" (docs/agent-protocol.md has their fields). Each is a card of the guest's by its MAC,
 * and gets the name, MTU, addresses, routes and neighbours that are there: no route is made that is
 * not named, and no address waits until it is known to be nobody else's.
 */
#ifndef GUEST_NETWORK_FIXED_H
#define GUEST_NETWORK_FIXED_H

#include <jansson.h>

#include "base/error.h"

#define NETWORK_FIXED_MAX 16

/* In the network namespace that the caller is in. */
int network_fixed_apply(json_t *network, struct error *err);

#endif
