/* SPDX-License-Identifier: MIT */
/*
 * The way from the loopback of a network namespace to the loopback of a guest: a listener in the
 * namespace that gets every TCP connection to 127.0.0.1 and ::1, whatever its port. Before the
 * kernel looks for a listener, it asks a BPF program of microagent-oci (BPF_PROG_TYPE_SK_LOOKUP).
 * So the kernel finds no other listener on these two addresses; the namespace belongs to the
 * machine and has none. Established connections and other addresses of 127.0.0.0/8 (127.0.0.11 is
 * Docker's resolver) are not affected.
 */
#ifndef OCI_NET_LOOPBACK_H
#define OCI_NET_LOOPBACK_H

#include "base/error.h"

struct netns_loopback {
	/* The listener, which is non-blocking. getsockname() of an accepted socket has the port to
	 * which the connection was made. */
	int listener;
	int link; /* the BPF program is attached to the namespace while this descriptor is open */
};
#define NETNS_LOOPBACK_NONE                \
	{                                  \
		.listener = -1, .link = -1 \
	}

/* Opens the listener in the network namespace of this process. The error says which step has
 * failed: a kernel before 5.9 has no such programs, or rights or a system call filter may forbid
 * them. */
int netns_loopback_open(struct netns_loopback *out, struct error *err);

#endif
