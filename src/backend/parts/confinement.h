/* SPDX-License-Identifier: MIT */
/* Finds out whether cells can be made on this host. */
#ifndef BACKEND_PARTS_CONFINEMENT_H
#define BACKEND_PARTS_CONFINEMENT_H

#include "base/error.h"

/*
 * Returns the path of bwrap, which the caller frees. First tests that bwrap can make a cell for
 * true(1). A success is remembered until the host boots again. A failure is never remembered.
 * Returns NULL with an error. An ERR_UNAVAILABLE names the missing package, or the setting of the
 * host that forbids cells.
 */
char *confinement_bwrap(struct error *err);
/* Forgets a remembered success, so that the next confinement_bwrap() makes the test again. Called
 * when a cell has failed. */
void confinement_forget(void);

#endif
