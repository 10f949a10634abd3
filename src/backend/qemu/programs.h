/* SPDX-License-Identifier: MIT */
/* The programs this backend starts, and how each is found. All results malloc'd, absolute. */
#ifndef BACKEND_QEMU_PROGRAMS_H
#define BACKEND_QEMU_PROGRAMS_H

#include <jansson.h>

#include "base/error.h"

/* $MICROAGENT_QEMU (the path of a binary; the cell holds no shell for a script), else
 * qemu-system-<architecture> in PATH. ERR_UNAVAILABLE names the package. */
char *program_qemu(struct error *err);
/* bwrap in PATH. ERR_UNAVAILABLE names the package. */
char *program_bwrap(struct error *err);
/* true(1), for trying a cell. */
char *program_true(struct error *err);
/* "newuidmap" or "newgidmap". */
char *program_newidmap(const char *name, struct error *err);
/* The one that came with QEMU until 8.0; the later one has other options. */
char *program_virtiofsd(struct error *err);
/* Beside the running executable, else in PATH. */
char *program_vsockd(struct error *err);
char *program_netgate(struct error *err);
/* passt in PATH. ERR_UNAVAILABLE names the package. */
char *program_passt(struct error *err);

/* The paths of all of them, as an array; what is not installed is left out. NULL without memory. */
json_t *programs_here(void);

#endif
