/* SPDX-License-Identifier: MIT */
/*
 * Relays frames between the tap of a VMM and a tap on a bridge of the host. The frames are neither
 * changed nor filtered. This is for a VMM that cannot take a tap as a descriptor. Both sides put
 * the same header before a frame, which says whether its checksum must still be computed and
 * whether it must still be cut into segments (PACKET_VNET_HDR, IFF_VNET_HDR).
 */
#ifndef NETGATE_RELAY_H
#define NETGATE_RELAY_H

#include "base/error.h"

/* Runs until one of the two interfaces is gone. A frame for which a side has no room is lost, as on
 * a bridge. */
int relay_run(int card, int bridge, struct error *err);

#endif
