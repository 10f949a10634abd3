/* SPDX-License-Identifier: MIT */
/* Sockets of TCP. Addresses are texts as a config has them. */
#ifndef HYPERV_WINDOWS_TCP_H
#define HYPERV_WINDOWS_TCP_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"

/* Readies Winsock for this process; the first call is to come before there are threads. */
int sockets_begin(struct error *err);

/* Takes a port of this host's address for this process alone. Nobody is answered there before
 * listen(). INVALID_SOCKET: err, which is ERR_UNAVAILABLE where somebody has the port. */
SOCKET tcp_take_port(const char *host, uint16_t port, struct error *err);
/* ERR_INVALID where the text is the address of another host. */
int tcp_check_own_address(const char *host, struct error *err);
/* Connects to "host:port" or "[v6]:port" by that time (clock_mono_ns()). What the system takes to
 * look up a name is not bounded by it. INVALID_SOCKET: err. */
SOCKET tcp_connect(const char *target, uint64_t deadline, struct error *err);

#endif
