/* SPDX-License-Identifier: MIT */
/* HvSocket: the guest's vsock ports, as Windows offers them. They are stream sockets, addressed by
 * the machine's RuntimeId and a service (machine/guid.h). */
#ifndef HYPERV_HVSOCKET_H
#define HYPERV_HVSOCKET_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

/* Listens for connections of only this guest. `backlog` is the number of connections that may wait
 * to be accepted. Returns INVALID_SOCKET with an error. */
SOCKET hvsocket_listen(const struct guid *vm, uint32_t port, int backlog, struct error *err);
/* Connects to a port of the guest within `ms` milliseconds. Without this bound connect() may wait
 * for ever for a guest that does not answer. Returns INVALID_SOCKET with an error. */
SOCKET hvsocket_connect(const struct guid *vm, uint32_t port, ULONG ms, struct error *err);
/* Sets how long one call on the socket may wait. `way` is SO_RCVTIMEO or SO_SNDTIMEO. */
int hvsocket_timeout(SOCKET socket, int way, DWORD ms, struct error *err);
int hvsocket_send(SOCKET socket, const void *data, size_t len, struct error *err);

#endif
