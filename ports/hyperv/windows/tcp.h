/* SPDX-License-Identifier: MIT */
/* Functions for TCP sockets. Addresses are texts, in the same form as in a config. */
#ifndef HYPERV_WINDOWS_TCP_H
#define HYPERV_WINDOWS_TCP_H

#include <winsock2.h>

#include <stdint.h>

#include "base/error.h"

/* Prepares Winsock for this process. Must be called for the first time before any thread is
 * started. */
int sockets_begin(struct error *err);

/* Binds a socket to a port of an address of this host, so that no other process can use this port.
 * Clients cannot connect before the caller calls listen(). Returns INVALID_SOCKET with err set on
 * failure. ERR_UNAVAILABLE means that another program uses the port. */
SOCKET tcp_take_port(const char *host, uint16_t port, struct error *err);
/* Checks that the text is an address of this host. Fails with ERR_INVALID if the text is no address
 * of this host. */
int tcp_check_own_address(const char *host, struct error *err);
/* Connects to "host:port" or "[v6]:port" before `deadline`, a time of clock_mono_ns(). The deadline
 * does not limit how long Windows looks up the name of the host. Returns INVALID_SOCKET with err
 * set on failure. */
SOCKET tcp_connect(const char *target, uint64_t deadline, struct error *err);

#endif
