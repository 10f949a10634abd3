/* SPDX-License-Identifier: MIT */
/*
 * Publishes ports of the guest. For a published TCP port P, the guest listens on the vsock port
 * 65536+P, and a connection to this vsock port is connected to P. If the config publishes all
 * ports, the guest listens on the vsock port 65536, and each connection to that port first sends
 * the number of a TCP port.
 *
 * With vsock a separate process copies the bytes. The agent opens the listening sockets before any
 * workload runs, gives them to this process, and starts the process again if it exits. With a mux
 * the agent copies the bytes itself, since all bytes of the mux go through the agent.
 */
#ifndef GUEST_PUBLISH_H
#define GUEST_PUBLISH_H

#include <jansson.h>

#include "base/agent_wire.h"
#include "base/error.h"
#include "base/loop.h"
#include "guest/agent/mux.h"

/* The number of the first listening socket of the publisher's process. The sockets have this and
 * the following file descriptors, in the same order as the ports in the process's argv. */
#define PUBLISH_FD_FIRST 3

/* Publishes the ports of the list `publishes`, which must not be empty. `mux` is NULL for vsock.
 * The process and the sockets are kept until the agent exits. */
int publish_start(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		  struct error *err);
/* Publishes the ports of the list `publishes` through a mux. Skips a port that is published
 * already. */
int publish_carried(struct loop *loop, struct mux *mux, const json_t *publishes, struct error *err);

#endif
