/* SPDX-License-Identifier: MIT */
/* Finds out whether cells can be made on this host. */
#ifndef BACKEND_PARTS_CONFINEMENT_H
#define BACKEND_PARTS_CONFINEMENT_H

#include "base/error.h"

/*
 * Returns the path of the bwrap to use (malloc'd). It is tested by making a cell around true(1). A
 * success is remembered per boot of the host; a failure never. Returns NULL with ERR_UNAVAILABLE
 * that names the missing package or the setting of the host.
 */
char *confinement_bwrap(struct error *err);
/* Called when a cell failed that should have worked: the next confinement_bwrap() tries again. */
void confinement_forget(void);

#endif
