/* SPDX-License-Identifier: MIT */
/* The host's side of a published port: an address of this host. */
#ifndef CHANNEL_PUBLISH_H
#define CHANNEL_PUBLISH_H

#include <jansson.h>
#include <stdint.h>

#include "base/agent_wire.h"
#include "base/error.h"

/* The port of TCP port 0, which nobody publishes: a connection says the TCP port that it wants
 * first, in two bytes. */
#define PUBLISH_PORT_ANY PUBLISH_PORT_FIRST

/* forward: one of config.network.portForwards as normalised. */
uint32_t publish_vsock_port(const json_t *forward);
/* "127.0.0.1:8080" or "[::1]:8080". */
#define PUBLISH_NAME 64
void publish_name(const json_t *forward, char out[PUBLISH_NAME]);
/* A non-blocking socket that holds the port (descriptor_bind_port()): nobody else can have it, and
 * whoever connects is refused. The error names host and port, and the machine that has the port
 * where one of the user's does; ERR_UNAVAILABLE when it is taken. */
int publish_bind(const json_t *forward, struct error *err);
/* Says in words what descriptor_guard_port() has failed by, which err has the number of. name: as
 * publish_name() has it. Returns -1. */
int publish_unguarded(const char *name, struct error *err);
/* forwards: the list, or NULL. ERR_INVALID for an address that this host does not have. */
int publish_check(const json_t *forwards, struct error *err);
/* Whether all of them could be had now. */
int publish_require_free(const json_t *forwards, struct error *err);

#endif
