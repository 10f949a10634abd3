/* SPDX-License-Identifier: MIT */
/* The host's side of a published port: an address of this host. */
#ifndef CHANNEL_PUBLISH_H
#define CHANNEL_PUBLISH_H

#include <jansson.h>
#include <stdint.h>

#include "base/agent_wire.h"
#include "base/error.h"

/* The vsock port for TCP port 0, which nobody publishes: a connection to it first sends the TCP
 * port that it wants, in two bytes. */
#define PUBLISH_PORT_ANY PUBLISH_PORT_FIRST

/* Returns the vsock port of one of config.network.portForwards as normalised. */
uint32_t publish_vsock_port(const json_t *forward);
/* Stores "127.0.0.1:8080" or "[::1]:8080". */
#define PUBLISH_NAME 64
void publish_name(const json_t *forward, char out[PUBLISH_NAME]);
/* Returns a non-blocking socket that holds the port (descriptor_bind_port()): nobody else can have
 * it, and connections are refused. ERR_UNAVAILABLE if the port is taken. The error names host and
 * port, and the machine that has the port if it is one of this user's. */
int publish_bind(const json_t *forward, struct error *err);
/* Sets an error that explains the failure of descriptor_guard_port(), whose errno err has. name: as
 * publish_name() stores it. Returns -1. */
int publish_unguarded(const char *name, struct error *err);
/* Checks the addresses of a list of forwards, or NULL. ERR_INVALID for an address that this host
 * does not have. */
int publish_check(const json_t *forwards, struct error *err);
/* Checks that all of the ports are free now. */
int publish_require_free(const json_t *forwards, struct error *err);

#endif
