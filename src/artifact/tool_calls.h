/* SPDX-License-Identifier: MIT */
/*
 * The system calls that foreign programs may use while they work on input from outside. Every other
 * call fails with ENOSYS, so that a program behaves as on an older kernel. Among the calls that
 * fail are those for keys of the kernel, namespaces, mounts, bpf, ptrace and io_uring, and for
 * sockets that belong to no network namespace (AF_VSOCK). A program that uses the call table of
 * another architecture (like that of i386) is killed.
 */
#ifndef ARTIFACT_TOOL_CALLS_H
#define ARTIFACT_TOOL_CALLS_H

#include "base/error.h"

enum tool_calls {
	/* For one program that runs without a cell, under Landlock. The program can start no
	 * process. It can reach no other process by a signal, a limit or a socket. It can change no
	 * mode, owner, time or attribute of a file: Landlock does not restrict these. */
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
