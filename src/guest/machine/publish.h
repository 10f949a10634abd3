/* SPDX-License-Identifier: MIT */
/*
 * Published ports. For TCP port P the guest has vsock port 65536+P, whose connections lead to P. If
 * the config publishes any port, the guest has vsock port 65536, and each connection to it first
 * names its TCP port. With vsock a separate process does the work: the agent listens before any
 * workload can, gives the listening sockets to this process, and starts it again if it dies. With a
 * mux the agent does the work itself, since every byte goes through the agent anyway.
 */
#ifndef GUEST_PUBLISH_H
#define GUEST_PUBLISH_H

#include <jansson.h>

#include "base/agent_wire.h"
#include "base/error.h"
#include "base/loop.h"
#include "guest/agent/mux.h"

/* The first descriptor of the process, whose listening sockets have the order of its words. */
#define PUBLISH_FD_FIRST 3

/* Opens published ports. `publishes` is from the config and not empty; `mux` is NULL for vsock. The
 * process and the sockets live as long as the agent. */
int publish_start(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		  struct error *err);
/* Opens published ports with a mux. A port that is open already is skipped. */
int publish_carried(struct loop *loop, struct mux *mux, const json_t *publishes, struct error *err);

#endif
