/* SPDX-License-Identifier: MIT */
/* Functions for HvSocket, the socket family by which Windows connects to the guest's vsock ports.
 * The sockets are stream sockets. An address has the machine's RuntimeId and the GUID of a service
 * (machine/guid.h). */
#ifndef HYPERV_HVSOCKET_H
#define HYPERV_HVSOCKET_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

/* Listens for connections from the guest of the machine `vm` only. `backlog` is the largest number
 * of connections that may wait to be accepted. Returns INVALID_SOCKET with err set on failure. */
SOCKET hvsocket_listen(const struct guid *vm, uint32_t port, int backlog, struct error *err);
/* Connects to a port of the guest within `ms` milliseconds. Without this limit connect() could wait
 * for ever for a guest that does not answer. Returns INVALID_SOCKET with err set on failure. */
SOCKET hvsocket_connect(const struct guid *vm, uint32_t port, ULONG ms, struct error *err);
/* Sets how many milliseconds a call that receives or sends on the socket may wait. `way` is
 * SO_RCVTIMEO for receiving or SO_SNDTIMEO for sending. */
int hvsocket_timeout(SOCKET socket, int way, DWORD ms, struct error *err);
int hvsocket_send(SOCKET socket, const void *data, size_t len, struct error *err);

#endif
