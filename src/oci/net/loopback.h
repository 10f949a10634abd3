/* SPDX-License-Identifier: MIT */
/*
 * The way from the loopback of a network namespace to the loopback of a guest: a listener in the
 * namespace that gets every TCP connection to 127.0.0.1 and ::1, whatever its port. Where the
 * kernel would look for a listener, it first asks a program of ours (BPF_PROG_TYPE_SK_LOOKUP). So
 * any other listener on these two addresses is not found; there is none, as the namespace belongs
 * to the machine. Established connections and other addresses of 127.0.0.0/8 (127.0.0.11 is
 * Docker's resolver) are not affected.
 */
#ifndef OCI_NET_LOOPBACK_H
#define OCI_NET_LOOPBACK_H

#include "base/error.h"

struct netns_loopback {
	int listener; /* non-blocking; getsockname() of an accepted socket has the requested port */
	int link;     /* attaches the program to the namespace as long as it is open */
};
#define NETNS_LOOPBACK_NONE                \
	{                                  \
		.listener = -1, .link = -1 \
	}

/* Opens the listener in the caller's namespace. The error says which step failed: a kernel before
 * 5.9 has no such programs, and rights or a system call filter may forbid them. */
int netns_loopback_open(struct netns_loopback *out, struct error *err);

#endif
