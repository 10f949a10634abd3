/* SPDX-License-Identifier: MIT */
/*
 * Shares one memory of a template between all machines that are restored from the template; these
 * machines are called siblings. The command that starts the first machine fills the memory, and
 * opens a socket in the template's directory. Each live supervisor of a sibling has descriptors of
 * the memory and of the socket, and passes them to the command that starts the next sibling. When
 * the last of these live supervisors exits, the kernel frees the memory, and no process accepts
 * connections at the socket.
 *
 * A guest may have gained control of its live supervisor. So a command accepts a memory and a
 * socket only if an earlier command has filled the memory and opened the socket. A record
 * identifies both, and no live supervisor can write this record.
 */
#ifndef SUPERVISOR_TEMPLATE_SIBLINGS_H
#define SUPERVISOR_TEMPLATE_SIBLINGS_H

#include "base/error.h"

struct template_memory {
	int ram_fd;	 /* the descriptor of the memory, which is sealed */
	int siblings_fd; /* the descriptor of the socket, which listens and is non-blocking */
};

/* Gets the shared memory from a live supervisor that has it. If there is none, makes the memory.
 * `dir` is the template's directory. `file` is the template's memory on the disk, which the caller
 * has verified. */
int template_memory_share(int dir, int file, struct template_memory *out, struct error *err);
/* Passes both descriptors to a process that has connected to the socket. Does nothing if that
 * process has closed its connection. Returns 0, or -1 if the socket no longer accepts
 * connections. */
int template_memory_give(int siblings_fd, int ram_fd);

#endif
