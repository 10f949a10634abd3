/* SPDX-License-Identifier: MIT */
/* The programs that are started beside a VMM, and how each is found. All results malloc'd,
 * absolute. */
#ifndef BACKEND_PARTS_PROGRAMS_H
#define BACKEND_PARTS_PROGRAMS_H

#include <jansson.h>

#include "base/error.h"

typedef char *program_finder(struct error *err);

/* bwrap in PATH. ERR_UNAVAILABLE names the package. */
char *program_bwrap(struct error *err);
/* true(1), for trying a cell. */
char *program_true(struct error *err);
/* "newuidmap" or "newgidmap". */
char *program_newidmap(const char *name, struct error *err);
/* A virtiofsd, of whichever kind (virtiofsd.h): $MICROAGENT_VIRTIOFSD, else where distributions have
 * the one in Rust, or QEMU's until 7.2. ERR_UNAVAILABLE names the packages. */
char *program_virtiofsd(struct error *err);
/* Beside the running executable, else in PATH. */
char *program_vsockd(struct error *err);
char *program_netgate(struct error *err);
/* passt in PATH. ERR_UNAVAILABLE names the package. */
char *program_passt(struct error *err);

/* The paths of all of them and of the VMM's, whose finders end with NULL, as an array; what is not
 * installed is left out. NULL without memory. */
json_t *programs_here(program_finder *const *vmm);

#endif
