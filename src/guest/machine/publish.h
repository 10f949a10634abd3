/* SPDX-License-Identifier: MIT */
/*
 * Published ports: for each a vsock port of the guest, 65536 above, whose connections lead to the
 * guest's TCP port; for any at once that of TCP port 0, whose connections say the port first. With
 * vsock a process of its own does it: the agent listens before any workload can, hands the sockets
 * to the process, and starts it anew if it dies. With a mux, through which every byte goes anyway,
 * the agent does it itself.
 */
#ifndef GUEST_PUBLISH_H
#define GUEST_PUBLISH_H

#include <jansson.h>

#include "base/agent_wire.h"
#include "base/error.h"
#include "base/loop.h"
#include "guest/agent/mux.h"

#define PUBLISH_FD_FIRST 3 /* of the process: the listening sockets, in the order of its words */

/* publishes: of the config, not empty; mux: NULL for vsock. What it makes lives as long as the
 * agent. */
int publish_start(struct loop *loop, struct mux *mux, const json_t *publishes, int program_fd,
		  struct error *err);
/* The same with a mux. A port that is open already stays so. */
int publish_carried(struct loop *loop, struct mux *mux, const json_t *publishes, struct error *err);

#endif
