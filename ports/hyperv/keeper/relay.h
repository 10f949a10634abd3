/* SPDX-License-Identifier: MIT */
/* Joins two connected sockets: what comes from one socket is sent to the other socket. */
#ifndef HYPERV_RELAY_H
#define HYPERV_RELAY_H

#include <winsock2.h>

/* Carries bytes in both directions, on this thread and one more. When one side ends its output, the
 * other side is told. When one side breaks, both are shut down. Returns when both directions are
 * over; both sockets are then closed. */
void relay_join(SOCKET one, SOCKET other);

#endif
