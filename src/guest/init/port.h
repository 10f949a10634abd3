/* SPDX-License-Identifier: MIT */
/* The virtio-serial port to the host, which is used instead of vsock. */
#ifndef GUEST_PORT_H
#define GUEST_PORT_H

#include "base/error.h"

/* A word on the kernel's command line, which says that there is a port. */
#define PORT_WORD "microagent.port"
#define PORT_NAME "microagent"

/* Waits for the port and opens it as non-blocking: in a blocking write that waits for room, the
 * kernel uses all of a processor. Returns a descriptor; -1 on failure. */
int port_open(struct error *err);

#endif
