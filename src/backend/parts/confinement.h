/* SPDX-License-Identifier: MIT */
/* Finds out whether cells can be made on this host. */
#ifndef BACKEND_PARTS_CONFINEMENT_H
#define BACKEND_PARTS_CONFINEMENT_H

#include "base/error.h"

/*
 * Returns the path of bwrap, after a test in which it makes a cell for true(1). The caller frees
 * the path. A success is remembered until the host boots again; a failure is never remembered.
 * Returns NULL with an error. ERR_UNAVAILABLE names the missing package, or the setting of the host
 * that forbids cells.
 */
char *confinement_bwrap(struct error *err);
/* Forgets a remembered success, so that the next confinement_bwrap() tests again. Called when a
 * cell failed. */
void confinement_forget(void);

#endif
