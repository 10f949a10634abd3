/* SPDX-License-Identifier: MIT */
/* Functions for TCP sockets. Addresses are texts, in the form of a config. */
#ifndef HYPERV_WINDOWS_TCP_H
#define HYPERV_WINDOWS_TCP_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"

/* Prepares Winsock for this process. Must be called for the first time before any thread is
 * started. */
int sockets_begin(struct error *err);

/* Binds a socket to a port of an address of this host, so that no other process can use this port.
 * Clients get no answer before listen(). Returns INVALID_SOCKET with an error; ERR_UNAVAILABLE:
 * another program has the port. */
SOCKET tcp_take_port(const char *host, uint16_t port, struct error *err);
/* Checks that the text is an address of this host. ERR_INVALID: it is an address of another
 * host. */
int tcp_check_own_address(const char *host, struct error *err);
/* Connects to "host:port" or "[v6]:port" before `deadline` (on clock_mono_ns()). The deadline does
 * not limit the time in which the system looks up a name. Returns INVALID_SOCKET with an error. */
SOCKET tcp_connect(const char *target, uint64_t deadline, struct error *err);

#endif
