/* SPDX-License-Identifier: MIT */
/* Connects two sockets with each other: bytes that come from one socket are sent to the other. */
#ifndef HYPERV_RELAY_H
#define HYPERV_RELAY_H

#include <winsock2.h>

/* Carries bytes in both directions, on this thread and a second one. When one socket ends its
 * output, the other socket is shut down for sending. When one socket breaks, both are shut down.
 * Closes both sockets when both directions are over, and then returns. */
void relay_join(SOCKET one, SOCKET other);

#endif
