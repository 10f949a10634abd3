/* SPDX-License-Identifier: MIT */
/*
 * The system calls that are left to the programs of others while they work on what comes from
 * outside. Every other call is answered by ENOSYS, so that a program does what it would do on an
 * older kernel: keys of the kernel, namespaces, mounts, bpf, ptrace, io_uring and the like, and
 * sockets that belong to no network namespace (AF_VSOCK). A call of another architecture's table
 * ends the program.
 */
#ifndef ARTIFACT_TOOL_CALLS_H
#define ARTIFACT_TOOL_CALLS_H

#include "base/error.h"

enum tool_calls {
	/* One program that runs outside of a cell: it can start no process, reach no other one by a
	 * signal, a limit or a socket, and change no mode, owner, time or attribute of a file,
	 * which Landlock does not cover. */
	TOOL_CALLS_ALONE,
	/* What runs in a cell, where no process, file system or network of the host is in reach. */
	TOOL_CALLS_CELL,
	/* The same, and sockets of the Internet. */
	TOOL_CALLS_NETWORK,
};

/* The compiled filter as a file, from its beginning. The caller closes fd. */
int tool_calls_filter(enum tool_calls which, int *fd, struct error *err);

#endif
