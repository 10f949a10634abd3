/* SPDX-License-Identifier: MIT */
/*
 * Lists the system calls that foreign programs may make while they work on input from outside. Any
 * other call fails with ENOSYS, so that a program behaves as on an older kernel. For example, all
 * calls for keys of the kernel, namespaces, mounts, bpf, ptrace and io_uring fail. Calls for
 * sockets that network namespaces do not separate (AF_VSOCK) fail too. A program that uses the call
 * table of another architecture (like that of i386) is killed.
 */
#ifndef ARTIFACT_TOOL_CALLS_H
#define ARTIFACT_TOOL_CALLS_H

#include "base/error.h"

enum tool_calls {
	/* The calls for one program that runs without a cell, under Landlock. The program cannot
	 * start a process. The program also cannot affect another process by a signal, a limit or a
	 * socket. Calls that change the mode, owner, time or attributes of a file are not allowed
	 * either, because Landlock does not restrict such changes. */
	TOOL_CALLS_ALONE,
	/* The calls for programs in a cell. There a program can reach no process, file system or
	 * network of the host. */
	TOOL_CALLS_CELL,
	/* The calls for programs in a cell that also use sockets of the internet. */
	TOOL_CALLS_NETWORK,
};

/* Opens the compiled filter as a file, positioned at its beginning. The caller closes *fd. */
int tool_calls_filter(enum tool_calls which, int *fd, struct error *err);

#endif
