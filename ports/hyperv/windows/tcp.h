/* SPDX-License-Identifier: MIT */
/* TCP sockets. Addresses are texts in the form that a config has. */
#ifndef HYPERV_WINDOWS_TCP_H
#define HYPERV_WINDOWS_TCP_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"

/* Prepares Winsock for this process. The first call must come before any thread is started. */
int sockets_begin(struct error *err);

/* Binds a socket to a port of an address of this host, so that no other process can bind to this
 * port. No client is answered before listen(). Returns INVALID_SOCKET with an error.
 * ERR_UNAVAILABLE: another program has the port. */
SOCKET tcp_take_port(const char *host, uint16_t port, struct error *err);
/* Checks that the text is an address of this host. ERR_INVALID: the text is the address of a
 * different host. */
int tcp_check_own_address(const char *host, struct error *err);
/* Connects to "host:port" or "[v6]:port" before `deadline` (clock_mono_ns()). The deadline does not
 * bound the time that the system takes to look up a name. Returns INVALID_SOCKET with an error. */
SOCKET tcp_connect(const char *target, uint64_t deadline, struct error *err);

#endif
