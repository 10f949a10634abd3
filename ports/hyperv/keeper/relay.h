/* SPDX-License-Identifier: MIT */
/* Connects two sockets with each other. Bytes that come from one socket are sent to the other. */
#ifndef HYPERV_RELAY_H
#define HYPERV_RELAY_H

#include <winsock2.h>

/* Carries bytes in both directions, on this thread and on a second one. If no more bytes come from
 * one socket, shuts the other down for sending. If one socket breaks, shuts both down. Closes both
 * sockets and returns when both directions have ended. */
void relay_join(SOCKET one, SOCKET other);

#endif
