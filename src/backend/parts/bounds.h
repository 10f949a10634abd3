/* SPDX-License-Identifier: MIT */
/* How much of a config's lists a guest can have, whatever its VMM. Pure. */
#ifndef BACKEND_PARTS_BOUNDS_H
#define BACKEND_PARTS_BOUNDS_H

#include "contract/request.h"

/* ERR_INVALID, or ERR_UNSUPPORTED for too many listeners, naming the field and the number. */
int bounds_check(const struct config *config, struct error *err);

#endif
