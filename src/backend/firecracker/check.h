/* SPDX-License-Identifier: MIT */
/* Checks whether a config asks for something that Firecracker cannot do or has no room for. The
 * functions are pure. */
#ifndef BACKEND_FIRECRACKER_CHECK_H
#define BACKEND_FIRECRACKER_CHECK_H

#include "backend/backend.h"

#define FC_OWN_MACHINES "Firecracker runs only machines of the host's own architecture"

extern const struct backend_refusal fc_refusals[];
/* Checks that the config does not ask for more than a machine has room for. Fails with
 * ERR_UNSUPPORTED if the config has too many listeners. Fails with ERR_INVALID if another list or
 * number of the config is too large. The error names the field and its largest value. */
int fc_check_bounds(const struct config *config, struct error *err);

#endif
