/* SPDX-License-Identifier: MIT */
/* Joins two connected sockets: what comes from one goes to the other. */
#ifndef HYPERV_RELAY_H
#define HYPERV_RELAY_H

#include <winsock2.h>

/* Carries bytes both ways on this thread and one more. An end of what one side sends is told to the
 * other, and a side that breaks ends both. Returns when both ways are over, and both sockets are
 * closed then. */
void relay_join(SOCKET one, SOCKET other);

#endif
