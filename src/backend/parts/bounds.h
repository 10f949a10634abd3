/* SPDX-License-Identifier: MIT */
/* Checks the lengths of the lists of a config, for a guest of any VMM. The function is pure. */
#ifndef BACKEND_PARTS_BOUNDS_H
#define BACKEND_PARTS_BOUNDS_H

#include "contract/request.h"

/* Checks the lengths of the lists. Fails with ERR_UNSUPPORTED if there are too many listeners.
 * Fails with ERR_INVALID if another list is too long. The error names the field and the largest
 * number. */
int bounds_check(const struct config *config, struct error *err);

#endif
