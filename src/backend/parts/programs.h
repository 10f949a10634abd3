/* SPDX-License-Identifier: MIT */
/* Finds the programs that microagent starts in addition to a VMM. Each result of the type char * is
 * an absolute path, which the caller frees, or NULL with an error. */
#ifndef BACKEND_PARTS_PROGRAMS_H
#define BACKEND_PARTS_PROGRAMS_H

#include <jansson.h>

#include "base/error.h"

typedef char *program_finder(struct error *err);

/* Finds bwrap in PATH. If bwrap is missing, fails with ERR_UNAVAILABLE, and the message names the
 * package. */
char *program_bwrap(struct error *err);
/* Finds the program true(1), which the test of a cell runs. */
char *program_true(struct error *err);
/* Finds a program by its name, which is "newuidmap" or "newgidmap". */
char *program_newidmap(const char *name, struct error *err);
/* Finds a virtiofsd of any kind (virtiofsd.h). The result is the program that $MICROAGENT_VIRTIOFSD
 * names. Without this variable the result is the virtiofsd in Rust, or else the virtiofsd of QEMU
 * up to 7.2, at the paths of the distributions. If all are missing, fails with ERR_UNAVAILABLE, and
 * the message names the packages. */
char *program_virtiofsd(struct error *err);
/* Functions that find programs of microagent, in the directory of the running executable or else in
 * PATH. */
char *program_vsockd(struct error *err);
char *program_netgate(struct error *err);
/* Finds passt in PATH. If passt is missing, fails with ERR_UNAVAILABLE, and the message names the
 * package. */
char *program_passt(struct error *err);

/* Returns an array of the paths of all programs of this header and of the VMM's programs. `vmm` is
 * an array of functions that find the VMM's programs; NULL ends it. A program that is not installed
 * is left out. The caller releases the result. Returns NULL if there is no memory. */
json_t *programs_here(program_finder *const *vmm);

#endif
