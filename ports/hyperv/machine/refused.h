/* SPDX-License-Identifier: MIT */
/* The requests that this supervisor cannot fulfil on any Windows. The functions are pure. */
#ifndef HYPERV_REFUSED_H
#define HYPERV_REFUSED_H

#include <stdbool.h>

#include "backend/refusal.h"
#include "contract/state.h"

#define HYPERV_BACKEND "windows-hyperv" /* identity.backend */

extern const struct backend_refusal hyperv_refusals[];
/* Returns why this supervisor does not have the command; NULL if it has the command. */
const char *hyperv_refuses_command(enum command command);

/* Checks a runtimeID, which becomes the name of a directory. ERR_INVALID: for Windows it is not
 * the plain name of a file, but that of a device or of a stream of a file, or Windows would
 * shorten it. */
int hyperv_check_name(const char *id, struct error *err);

#endif
