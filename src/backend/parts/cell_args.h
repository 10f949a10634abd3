/* SPDX-License-Identifier: MIT */
/* bwrap's command line for one cell. */
#ifndef BACKEND_PARTS_CELL_ARGS_H
#define BACKEND_PARTS_CELL_ARGS_H

#include "backend/parts/cell.h"
#include "base/argv.h"

/* Numbers of our own descriptors in bwrap, behind all of spec->fds. */
struct cell_numbers {
	int info, hold; /* --info-fd, --block-fd */
	int filter;	/* --seccomp */
	int data;	/* the first of spec->ndata */
};
struct cell_numbers cell_numbers(const struct cell_spec *spec);
void cell_arguments(const struct cell_spec *spec, struct argv *argv);

/* The directory of this host's libraries, which a cell has: "/usr/lib/x86_64-linux-gnu", or "/usr/lib"
 * where a system has none of that kind. */
const char *cell_libraries(void);

#endif
