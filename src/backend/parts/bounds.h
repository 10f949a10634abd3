/* SPDX-License-Identifier: MIT */
/* Checks the lengths of the lists of a config, for a guest of any VMM. Pure. */
#ifndef BACKEND_PARTS_BOUNDS_H
#define BACKEND_PARTS_BOUNDS_H

#include "contract/request.h"

/* Checks the lengths of the lists. ERR_UNSUPPORTED: there are too many listeners. ERR_INVALID:
 * another list is too long. The error names the field and the number. */
int bounds_check(const struct config *config, struct error *err);

#endif
