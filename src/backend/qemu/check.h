/* SPDX-License-Identifier: MIT */
/* What of a config this backend cannot honour yet. Pure. */
#ifndef BACKEND_QEMU_CHECK_H
#define BACKEND_QEMU_CHECK_H

#include "contract/request.h"

/* ERR_UNSUPPORTED naming the first such field by its JSON path, and what is missing. */
int check_fields(const struct config *config, struct error *err);

#endif
