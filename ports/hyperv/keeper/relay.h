/* SPDX-License-Identifier: MIT */
/* Connects two sockets with each other. Bytes that are received on one socket are sent on the other
 * socket. */
#ifndef HYPERV_RELAY_H
#define HYPERV_RELAY_H

#include <winsock2.h>

/* Copies bytes in both directions, on this thread and on a second thread. When one socket has
 * reached its end, shuts the other socket down for sending. If one socket fails, shuts both down.
 * When both directions have ended, closes both sockets and returns. */
void relay_join(SOCKET one, SOCKET other);

#endif
