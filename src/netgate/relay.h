/* SPDX-License-Identifier: MIT */
/*
 * Relays frames between the tap of a VMM and a tap on a bridge of the host, for a VMM that cannot
 * take a tap as a descriptor. The frames are neither changed nor filtered. Both taps put the same
 * header before a frame (PACKET_VNET_HDR, IFF_VNET_HDR). The header says whether the frame's
 * checksum must still be computed, and whether the frame must still be cut into segments.
 */
#ifndef NETGATE_RELAY_H
#define NETGATE_RELAY_H

#include "base/error.h"

/* Runs until one of the two interfaces is gone. If a side has no room for a frame, the frame is
 * lost, as on a bridge. */
int relay_run(int card, int bridge, struct error *err);

#endif
