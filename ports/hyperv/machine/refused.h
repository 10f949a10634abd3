/* SPDX-License-Identifier: MIT */
/* The requests that this supervisor refuses on every Windows. The functions have no side
 * effects. */
#ifndef HYPERV_REFUSED_H
#define HYPERV_REFUSED_H

#include <stdbool.h>

#include "backend/refusal.h"
#include "contract/state.h"

#define HYPERV_BACKEND "windows-hyperv" /* the value of identity.backend */

extern const struct backend_refusal hyperv_refusals[];
/* Returns the reason why this supervisor does not have the command, or NULL if it has the
 * command. */
const char *hyperv_refuses_command(enum command command);

/* Checks a runtimeID, which becomes the name of a directory. Fails with ERR_INVALID if Windows
 * would take the runtimeID for the name of a device or of a stream of a file, or would shorten
 * it. */
int hyperv_check_name(const char *id, struct error *err);

#endif
