/* SPDX-License-Identifier: MIT */
/*
 * Configures network cards if "network" in the run config has "interfaces". The cards get the same
 * values as network interfaces of the host have. docs/agent-protocol.md describes the fields. Each
 * card is found by its MAC address, and gets the name, MTU, addresses, routes and neighbours of the
 * config. A card gets no other route. An address can be used at once, because the kernel is told
 * not to check whether another machine has the same address.
 */
#ifndef GUEST_NETWORK_FIXED_H
#define GUEST_NETWORK_FIXED_H

#include <jansson.h>

#include "base/error.h"

#define NETWORK_FIXED_MAX 16

/* Configures the cards in the network namespace of the calling process. */
int network_fixed_apply(json_t *network, struct error *err);

#endif
