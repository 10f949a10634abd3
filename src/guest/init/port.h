/* SPDX-License-Identifier: MIT */
/* The virtio-serial port to the host, which is used instead of vsock. */
#ifndef GUEST_PORT_H
#define GUEST_PORT_H

#include "base/error.h"

/* A word of the kernel's command line, which means that the machine has the port. */
#define PORT_WORD "microagent.port"
#define PORT_NAME "microagent"

/* Waits for the port, and opens it as non-blocking. In a blocking write that waits for room, the
 * kernel would use all the time of a processor. Returns the descriptor, or -1 on failure. */
int port_open(struct error *err);

#endif
