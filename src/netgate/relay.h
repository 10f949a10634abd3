/* SPDX-License-Identifier: MIT */
/*
 * Relays frames between the tap of a VMM and a tap on a bridge of the host, unchanged and
 * unfiltered. It is for a VMM that takes no tap as a descriptor. Both sides put the same header
 * before a frame, which says what is still to be done to checksums and segments (PACKET_VNET_HDR,
 * IFF_VNET_HDR).
 */
#ifndef NETGATE_RELAY_H
#define NETGATE_RELAY_H

#include "base/error.h"

/* Runs until one of the interfaces is gone. A frame for which there is no room is lost, as on a
 * bridge. */
int relay_run(int card, int bridge, struct error *err);

#endif
