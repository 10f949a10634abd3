/* SPDX-License-Identifier: MIT */
/*
 * The way from the loopback of a network namespace to that of a guest: a listener there that gets
 * every TCP connection to 127.0.0.1 and ::1, whatever its port. The kernel asks a program of ours
 * for it (BPF_PROG_TYPE_SK_LOOKUP) where it would look for who listens. It asks before it looks, so
 * that whoever else listens on these two addresses is not found: the namespace is the machine's,
 * where nobody does. What is established already, and other addresses of 127.0.0.0/8 (127.0.0.11 is
 * Docker's resolver), are as they were.
 */
#ifndef OCI_NET_LOOPBACK_H
#define OCI_NET_LOOPBACK_H

#include "base/error.h"

struct netns_loopback {
	int listener; /* non-blocking; getsockname() of what it accepts has the port asked for */
	int link;     /* the program, and the namespace it is asked in, for as long as it is open */
};
#define NETNS_LOOPBACK_NONE                \
	{                                  \
		.listener = -1, .link = -1 \
	}

/* In the namespace that the caller is in. The error says which step failed: a kernel before 5.9
 * has no such programs, and rights or a filter of system calls may not let us have one. */
int netns_loopback_open(struct netns_loopback *out, struct error *err);

#endif
