/* SPDX-License-Identifier: MIT */
/* Checks for the parts of a config that QEMU's machines cannot do or have no room for. Pure. */
#ifndef BACKEND_QEMU_CHECK_H
#define BACKEND_QEMU_CHECK_H

#include "backend/backend.h"
#include "base/architecture.h"

extern const struct backend_refusal qemu_refusals[];
/* Returns ERR_INVALID, or ERR_UNSUPPORTED for too many listeners. The error names the field and the
 * number. */
int check_bounds(const struct config *config, struct error *err);
/* Returns ERR_UNSUPPORTED for machines that cannot run on this host. */
int check_architecture(enum architecture machine, struct error *err);

#endif
