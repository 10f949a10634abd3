/* SPDX-License-Identifier: MIT */
/* The address and the port of this host at which a port of a guest is published. */
#ifndef CHANNEL_PUBLISH_H
#define CHANNEL_PUBLISH_H

#include <jansson.h>
#include <stdint.h>

#include "base/agent_wire.h"
#include "base/error.h"

/* The vsock port that stands for any TCP port of the guest: a program that connects to this vsock
 * port first sends the TCP port in two bytes. PUBLISH_PORT_FIRST + P stands for TCP port P. Because
 * TCP port 0 cannot be published, PUBLISH_PORT_FIRST itself is free for this purpose. */
#define PUBLISH_PORT_ANY PUBLISH_PORT_FIRST

/* Returns the vsock port for an entry of config.network.portForwards in canonical form. */
uint32_t publish_vsock_port(const json_t *forward);
/* Stores the address and port of a forward as text: "127.0.0.1:8080" or "[::1]:8080". */
#define PUBLISH_NAME 64
void publish_name(const json_t *forward, char out[PUBLISH_NAME]);
/* Returns a non-blocking socket that holds the port (descriptor_bind_port()): no other program can
 * take the port, and connections to the port are refused. ERR_UNAVAILABLE if the port is taken. The
 * error names the host's address and the port. If a machine of the user has the port, the error
 * also names this machine. */
int publish_bind(const json_t *forward, struct error *err);
/* Sets an error that explains why descriptor_guard_port() has failed. err->errnum is its errno.
 * `name` is as publish_name() stores it. Returns -1. */
int publish_unguarded(const char *name, struct error *err);
/* Checks the addresses of a list of forwards (NULL: no list). ERR_INVALID for an address that this
 * host does not have. */
int publish_check(const json_t *forwards, struct error *err);
/* Checks that the ports of all forwards are free now. */
int publish_require_free(const json_t *forwards, struct error *err);

#endif
