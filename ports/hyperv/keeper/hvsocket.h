/* SPDX-License-Identifier: MIT */
/* Functions for HvSocket, by which Windows offers the guest's vsock ports. They are stream sockets.
 * An address is the machine's RuntimeId and a service (machine/guid.h). */
#ifndef HYPERV_HVSOCKET_H
#define HYPERV_HVSOCKET_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

/* Listens for connections of this guest, and of no other. `backlog` is how many connections may
 * wait to be accepted. Returns INVALID_SOCKET with an error. */
SOCKET hvsocket_listen(const struct guid *vm, uint32_t port, int backlog, struct error *err);
/* Connects to a port of the guest within `ms` milliseconds. Without this limit connect() may wait
 * for ever for a guest that does not answer. Returns INVALID_SOCKET with an error. */
SOCKET hvsocket_connect(const struct guid *vm, uint32_t port, ULONG ms, struct error *err);
/* Sets how many milliseconds one call on the socket may wait. `way` is SO_RCVTIMEO or
 * SO_SNDTIMEO. */
int hvsocket_timeout(SOCKET socket, int way, DWORD ms, struct error *err);
int hvsocket_send(SOCKET socket, const void *data, size_t len, struct error *err);

#endif
