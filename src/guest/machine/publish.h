/* SPDX-License-Identifier: MIT */
/*
 * Published ports: for each a vsock port of the guest, 65536 above, whose connections a process of
 * its own leads to the guest's TCP port. The agent listens before any workload can, hands the
 * sockets to the process, and starts it anew if it dies.
 */
#ifndef GUEST_PUBLISH_H
#define GUEST_PUBLISH_H

#include <jansson.h>

#include "base/error.h"
#include "base/loop.h"

#define PUBLISH_PORT_FIRST 65536u
#define PUBLISH_FD_FIRST 3 /* of the process: the listening sockets, in the order of its words */

/* publishes: of the config, not empty. What it makes lives as long as the agent. */
int publish_start(struct loop *loop, const json_t *publishes, int program_fd, struct error *err);

#endif
