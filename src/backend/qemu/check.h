/* SPDX-License-Identifier: MIT */
/* Checks whether a config asks for something that QEMU's machines cannot do or have no room for.
 * Pure. */
#ifndef BACKEND_QEMU_CHECK_H
#define BACKEND_QEMU_CHECK_H

#include "backend/backend.h"
#include "base/architecture.h"

extern const struct backend_refusal qemu_refusals[];
/* Checks that the config asks for no more than a machine has room for. ERR_UNSUPPORTED: the config
 * has too many listeners. ERR_INVALID: another list or number of the config is too large. The error
 * names the field and the largest number. */
int check_bounds(const struct config *config, struct error *err);
/* Checks that machines of this architecture can run on this host. ERR_UNSUPPORTED: they cannot. */
int check_architecture(enum architecture machine, struct error *err);

#endif
