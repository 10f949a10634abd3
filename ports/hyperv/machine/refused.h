/* SPDX-License-Identifier: MIT */
/* What no machine of this supervisor can have, on any Windows. Pure. */
#ifndef HYPERV_REFUSED_H
#define HYPERV_REFUSED_H

#include <stdbool.h>

#include "backend/refusal.h"
#include "contract/state.h"

#define HYPERV_BACKEND "windows-hyperv" /* identity.backend */

extern const struct backend_refusal hyperv_refusals[];
/* Why there is no such command; NULL: there is. */
const char *hyperv_refuses_command(enum command command);

/* Of a runtimeID, which becomes the name of a directory: ERR_INVALID where Windows would take it
 * for something else than a name (a device, a stream of a file, a name that it cuts). */
int hyperv_check_name(const char *id, struct error *err);

#endif
