/* SPDX-License-Identifier: MIT */
/* HvSocket: the guest's vsock ports as Windows has them. Stream sockets, addressed by the machine's
 * RuntimeId and a service (machine/guid.h). */
#ifndef HYPERV_HVSOCKET_H
#define HYPERV_HVSOCKET_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

/* Listens for that guest alone; backlog: of connections that nobody has accepted. INVALID_SOCKET:
 * err. */
SOCKET hvsocket_listen(const struct guid *vm, uint32_t port, int backlog, struct error *err);
/* Of itself connect() may wait for ever for a guest that does not answer. */
SOCKET hvsocket_connect(const struct guid *vm, uint32_t port, ULONG ms, struct error *err);
/* way: SO_RCVTIMEO or SO_SNDTIMEO. One call on it waits no longer than that. */
int hvsocket_timeout(SOCKET socket, int way, DWORD ms, struct error *err);
int hvsocket_send(SOCKET socket, const void *data, size_t len, struct error *err);

#endif
