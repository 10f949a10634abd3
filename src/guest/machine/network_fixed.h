/* SPDX-License-Identifier: MIT */
/*
 * Configures cards like links of the host, if "network" in the run config has "interfaces".
 * docs/agent-protocol.md has the fields. Each card is found by its MAC address. It gets the name,
 * MTU, addresses, routes and neighbours of the config, and no other route. An address can be used
 * at once, since the kernel does not first check whether another machine has it.
 */
#ifndef GUEST_NETWORK_FIXED_H
#define GUEST_NETWORK_FIXED_H

#include <jansson.h>

#include "base/error.h"

#define NETWORK_FIXED_MAX 16

/* Configures the cards in the caller's network namespace. */
int network_fixed_apply(json_t *network, struct error *err);

#endif
