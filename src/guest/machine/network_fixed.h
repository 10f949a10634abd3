/* SPDX-License-Identifier: MIT */
/*
 * Configures cards like links of the host, if the run config's "network" has "interfaces"
 * (docs/agent-protocol.md has the fields). Each card is found by its MAC address, and gets the
 * given name, MTU, addresses, routes and neighbours. No other route is made. An address can be used
 * at once: the kernel does not first check whether another machine has it.
 */
#ifndef GUEST_NETWORK_FIXED_H
#define GUEST_NETWORK_FIXED_H

#include <jansson.h>

#include "base/error.h"

#define NETWORK_FIXED_MAX 16

/* Sets up the cards in the caller's network namespace. */
int network_fixed_apply(json_t *network, struct error *err);

#endif
