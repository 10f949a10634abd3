/* SPDX-License-Identifier: MIT */
/*
 * Leads connections from the loopback of a network namespace to the loopback of a guest. A listener
 * in the namespace gets every TCP connection to 127.0.0.1 and ::1, whatever its port. Before the
 * kernel looks for a listener, it asks a BPF program of microagent-oci (BPF_PROG_TYPE_SK_LOOKUP).
 * So the kernel uses no other listener on these two addresses. That is no loss, since the namespace
 * belongs to the machine and has no other listeners. Established connections are not affected.
 * Other addresses of 127.0.0.0/8, such as 127.0.0.11 (Docker's resolver), are not affected either.
 */
#ifndef OCI_NET_LOOPBACK_H
#define OCI_NET_LOOPBACK_H

#include "base/error.h"

struct netns_loopback {
	/* The listener; its descriptor is non-blocking. For a socket that it accepts, getsockname()
	 * returns the port to which the client has connected. */
	int listener;
	int link; /* while this descriptor is open, the BPF program is attached to the namespace */
};
#define NETNS_LOOPBACK_NONE                \
	{                                  \
		.listener = -1, .link = -1 \
	}

/* Opens the listener in the network namespace of this process. The caller closes both descriptors.
 * The error names the failed step. Possible reasons are a kernel before 5.9, which has no BPF
 * programs of this type, missing rights, and a system call filter. */
int netns_loopback_open(struct netns_loopback *out, struct error *err);

#endif
