/* SPDX-License-Identifier: MIT */
/* Checks for the parts of a config that Firecracker cannot do or has no room for. Pure. */
#ifndef BACKEND_FIRECRACKER_CHECK_H
#define BACKEND_FIRECRACKER_CHECK_H

#include "backend/backend.h"

#define FC_OWN_MACHINES "Firecracker runs machines of the host's own architecture, by KVM"

extern const struct backend_refusal fc_refusals[];
/* Returns ERR_INVALID, or ERR_UNSUPPORTED for too many listeners. The error names the field and the
 * number. */
int fc_check_bounds(const struct config *config, struct error *err);

#endif
