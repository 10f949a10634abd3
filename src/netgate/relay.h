/* SPDX-License-Identifier: MIT */
/*
 * Frames between a VMM's tap and one on a bridge of the host, as they are and unfiltered: for a VMM
 * that takes no tap as a descriptor. Both sides put a header in front which says what is to be done
 * to checksums and segments yet, and it is the same one (PACKET_VNET_HDR, IFF_VNET_HDR).
 */
#ifndef NETGATE_RELAY_H
#define NETGATE_RELAY_H

#include "base/error.h"

/* Until one of the interfaces has gone. A frame for which there is no room is lost, as it is on a
 * bridge. */
int relay_run(int card, int bridge, struct error *err);

#endif
