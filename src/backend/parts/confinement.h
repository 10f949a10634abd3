/* SPDX-License-Identifier: MIT */
/* Can cells be made on this host? */
#ifndef BACKEND_PARTS_CONFINEMENT_H
#define BACKEND_PARTS_CONFINEMENT_H

#include "base/error.h"

/*
 * The bwrap to use (malloc'd), found out by making a cell around true(1); a success is remembered
 * per boot of the host, a failure never. NULL: ERR_UNAVAILABLE, and the package or the setting of
 * the host that is missing.
 */
char *confinement_bwrap(struct error *err);
/* A cell that should have worked did not: the next call tries again. */
void confinement_forget(void);

#endif
