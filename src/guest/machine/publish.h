/* SPDX-License-Identifier: MIT */
/*
 * Published ports. For its TCP port P the guest has the vsock port 65536+P, whose connections lead
 * to P. If the config publishes all ports, the guest has the vsock port 65536, and each connection
 * to it first names its TCP port.
 *
 * With vsock a separate process moves the bytes. The agent listens before any workload can, gives
 * the listening sockets to this process, and starts the process again if it dies. With a mux the
 * agent moves the bytes itself, since all bytes go through the agent anyway.
 */
#ifndef GUEST_PUBLISH_H
#define GUEST_PUBLISH_H

#include <jansson.h>

#include "base/agent_wire.h"
#include "base/error.h"
#include "base/loop.h"
#include "guest/agent/mux.h"

/* The first descriptor of the publisher's process that is a listening socket. The sockets have the
 * same order as the words of the process. */
#define PUBLISH_FD_FIRST 3

/* Opens published ports. `publishes` is the list of the config, which must not be empty. `mux` is
 * NULL for vsock. The process and the sockets live as long as the agent. */
int publish_start(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		  struct error *err);
/* Opens published ports through a mux. Skips a port that is open already. */
int publish_carried(struct loop *loop, struct mux *mux, const json_t *publishes, struct error *err);

#endif
