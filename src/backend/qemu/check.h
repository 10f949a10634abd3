/* SPDX-License-Identifier: MIT */
/* Checks whether a config asks for something that QEMU's machines cannot do or have no room for.
 * The functions are pure. */
#ifndef BACKEND_QEMU_CHECK_H
#define BACKEND_QEMU_CHECK_H

#include "backend/backend.h"
#include "base/architecture.h"

extern const struct backend_refusal qemu_refusals[];
/* Checks that the config does not ask for more than a machine has room for. Fails with
 * ERR_UNSUPPORTED if the config has too many listeners. Fails with ERR_INVALID if another list or
 * number of the config is too large. The error names the field and its largest value. */
int check_bounds(const struct config *config, struct error *err);
/* Checks that machines of this architecture can run on this host. Fails with ERR_UNSUPPORTED if
 * they cannot. */
int check_architecture(enum architecture machine, struct error *err);

#endif
