/* SPDX-License-Identifier: MIT */
/* What of a config QEMU's machines have no way or no room for. Pure. */
#ifndef BACKEND_QEMU_CHECK_H
#define BACKEND_QEMU_CHECK_H

#include "backend/backend.h"
#include "base/architecture.h"

extern const struct backend_refusal qemu_refusals[];
/* ERR_INVALID, or ERR_UNSUPPORTED for too many listeners, naming the field and the number. */
int check_bounds(const struct config *config, struct error *err);
/* ERR_UNSUPPORTED for machines that are not had on this host. */
int check_architecture(enum architecture machine, struct error *err);

#endif
