/* SPDX-License-Identifier: MIT */
/* Can cells be made on this host? */
#ifndef BACKEND_QEMU_CONFINEMENT_H
#define BACKEND_QEMU_CONFINEMENT_H

#define CONFINEMENT_REASON 256

/*
 * The bwrap to use (malloc'd), found out by making a cell around true(1); a success is remembered
 * per boot of the host, a failure never. NULL: no cells, the program's own seccomp filter must do.
 * reason says what was found, and what to do where there is something to do.
 */
char *confinement_bwrap(char reason[CONFINEMENT_REASON]);
/* A cell that should have worked did not: the next call tries again. */
void confinement_forget(void);

#endif
