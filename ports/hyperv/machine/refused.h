/* SPDX-License-Identifier: MIT */
/* The requests that this supervisor can fulfil on no Windows. The functions have no side
 * effects. */
#ifndef HYPERV_REFUSED_H
#define HYPERV_REFUSED_H

#include <stdbool.h>

#include "backend/refusal.h"
#include "contract/state.h"

#define HYPERV_BACKEND "windows-hyperv" /* the value of identity.backend */

extern const struct backend_refusal hyperv_refusals[];
/* Returns the reason why this supervisor does not have the command; NULL if it has it. */
const char *hyperv_refuses_command(enum command command);

/* Checks a runtimeID, which becomes the name of a directory. ERR_INVALID: Windows would take it for
 * the name of a device or of a stream of a file, or would shorten it. */
int hyperv_check_name(const char *id, struct error *err);

#endif
