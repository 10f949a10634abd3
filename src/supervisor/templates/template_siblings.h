/* SPDX-License-Identifier: MIT */
/*
 * Shares one memory of a template between all machines that are restored from it. The command that
 * starts the first machine fills the memory and opens a socket in the template's directory. Each
 * live supervisor of such a machine has both, the memory and the socket. It gives them to the
 * command that starts the next machine. When the last live supervisor ends, both are gone, and
 * nothing answers at the socket's name.
 *
 * A live supervisor may have been taken over by its guest. So what it gives is taken only if it is
 * the same memory that a command has filled, and the same socket that the command has opened. A
 * record says which these are, and no live supervisor can write it.
 */
#ifndef SUPERVISOR_TEMPLATE_SIBLINGS_H
#define SUPERVISOR_TEMPLATE_SIBLINGS_H

#include "base/error.h"

struct template_memory {
	int ram_fd;	 /* sealed */
	int siblings_fd; /* listening, non-blocking */
};

/* Takes or makes the shared memory. dir: the template's directory. file: its verified memory on the
 * disk. */
int template_memory_share(int dir, int file, struct template_memory *out, struct error *err);
/* Gives both to a process that has connected; gives nothing if it has gone again. Returns -1 if no
 * process can connect any more. */
int template_memory_give(int siblings_fd, int ram_fd);

#endif
