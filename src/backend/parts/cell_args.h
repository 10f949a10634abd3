/* SPDX-License-Identifier: MIT */
/* Makes bwrap's command line for one cell. */
#ifndef BACKEND_PARTS_CELL_ARGS_H
#define BACKEND_PARTS_CELL_ARGS_H

#include "backend/parts/cell.h"
#include "base/argv.h"

/* The numbers of the descriptors that bwrap itself gets. These numbers come after the numbers of
 * spec->fds. */
struct cell_numbers {
	int info, hold; /* the numbers for bwrap's options --info-fd and --block-fd */
	int filter;	/* the number for bwrap's option --seccomp */
	int data;	/* the number of the first descriptor of spec->data */
};
struct cell_numbers cell_numbers(const struct cell_spec *spec);
void cell_arguments(const struct cell_spec *spec, struct argv *argv);

/* Returns the directory with this host's libraries, which a cell sees. The directory is for example
 * "/usr/lib/x86_64-linux-gnu", or "/usr/lib" if the host has no such directory. */
const char *cell_libraries(void);

#endif
