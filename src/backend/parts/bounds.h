/* SPDX-License-Identifier: MIT */
/* Checks how long a config's lists may be for a guest, with any VMM. Pure. */
#ifndef BACKEND_PARTS_BOUNDS_H
#define BACKEND_PARTS_BOUNDS_H

#include "contract/request.h"

/* Returns ERR_INVALID, or ERR_UNSUPPORTED for too many listeners. The error names the field and the
 * number. */
int bounds_check(const struct config *config, struct error *err);

#endif
