/* SPDX-License-Identifier: MIT */
/* The virtio-serial port to the host, which is used instead of vsock. */
#ifndef GUEST_PORT_H
#define GUEST_PORT_H

#include "base/error.h"

/* The word of the kernel's command line that says that the machine has this port. */
#define PORT_WORD "microagent.port"
#define PORT_NAME "microagent"

/* Waits until the port exists, and opens it as non-blocking. While a blocking write waits for room,
 * the kernel would keep a processor busy. Returns the file descriptor, or -1 with err set. */
int port_open(struct error *err);

#endif
