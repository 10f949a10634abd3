/* SPDX-License-Identifier: MIT */
/*
 * The memory of a template, once for all machines that are restored from it. Whoever starts the
 * first fills it and opens a socket in the template's directory; each live supervisor of a machine
 * of it has both, the memory and the socket, and gives them to whoever starts the next one. The
 * last that ends takes them along, and the socket's name answers nobody.
 *
 * A live supervisor may have been taken over by its guest: so what it gives is only taken if it is
 * the very memory that a command has filled, and the very socket that it has opened, which no live
 * supervisor can write down.
 */
#ifndef SUPERVISOR_TEMPLATE_SIBLINGS_H
#define SUPERVISOR_TEMPLATE_SIBLINGS_H

#include "base/error.h"

struct template_memory {
	int ram_fd;	 /* sealed */
	int siblings_fd; /* listening, non-blocking */
};

/* dir: the template's; file: its verified memory on the disk. */
int template_memory_share(int dir, int file, struct template_memory *out, struct error *err);
/* Gives both to one who has come, and nothing to one who has gone again. -1: nobody can come
 * any more. */
int template_memory_give(int siblings_fd, int ram_fd);

#endif
