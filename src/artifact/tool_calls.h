/* SPDX-License-Identifier: MIT */
/*
 * The system calls that foreign programs may use while they work on input from outside. Every other
 * call returns ENOSYS, so that a program behaves as on an older kernel. Refused are keys of the
 * kernel, namespaces, mounts, bpf, ptrace, io_uring and the like, and sockets that belong to no
 * network namespace (AF_VSOCK). A call of another architecture's table ends the program.
 */
#ifndef ARTIFACT_TOOL_CALLS_H
#define ARTIFACT_TOOL_CALLS_H

#include "base/error.h"

enum tool_calls {
	/* For one program that runs outside a cell. It can start no process. It can reach no other
	 * process by a signal, a limit or a socket. It can change no mode, owner, time or attribute
	 * of a file, because Landlock does not cover these. */
	TOOL_CALLS_ALONE,
	/* For programs in a cell, where they can reach no process, file system or network of the
	 * host. */
	TOOL_CALLS_CELL,
	/* For programs in a cell that also need sockets of the Internet. */
	TOOL_CALLS_NETWORK,
};

/* Opens the compiled filter as a file, at its beginning. The caller closes *fd. */
int tool_calls_filter(enum tool_calls which, int *fd, struct error *err);

#endif
