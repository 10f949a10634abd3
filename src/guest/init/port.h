/* SPDX-License-Identifier: MIT */
/* The virtio-serial port to the host, in place of vsock. */
#ifndef GUEST_PORT_H
#define GUEST_PORT_H

#include "base/error.h"

#define PORT_WORD "microagent.port" /* on the kernel's command line: it is there, or will be */
#define PORT_NAME "microagent"

/* Waits for the port and opens it, non-blocking: in a write that waits for room the kernel spins.
 * A descriptor or -1. */
int port_open(struct error *err);

#endif
