/* SPDX-License-Identifier: MIT */
/* HvSocket: the guest's vsock ports as Windows has them. Stream sockets, addressed by the machine's
 * RuntimeId and a service (machine/guid.h). */
#ifndef HYPERV_HVSOCKET_H
#define HYPERV_HVSOCKET_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

/* That guest's alone; INVALID_SOCKET: err. */
SOCKET hvsocket_listen(const struct guid *vm, uint32_t port, struct error *err);
SOCKET hvsocket_connect(const struct guid *vm, uint32_t port, struct error *err);
/* What waits in recv() on it waits no longer than that. */
int hvsocket_receive_timeout(SOCKET socket, DWORD ms, struct error *err);
int hvsocket_send(SOCKET socket, const void *data, size_t len, struct error *err);

#endif
