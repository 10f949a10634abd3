/* SPDX-License-Identifier: MIT */
/* Cards of a machine whose taps the caller of start has made, instead of one by the config. */
#ifndef SUPERVISOR_LINKS_H
#define SUPERVISOR_LINKS_H

#include <jansson.h>

#include "base/error.h"
#include "supervisor/options.h"

/* options->links_fd: {"interfaces":[{"mac",..},..]}, which the guest is told
 * (docs/agent-protocol.md); -1: there are none, and *out is left. From taps_fd on there are as many
 * taps, in a row, which become close-on-exec. *out is a new reference. */
int links_read(const struct options *options, json_t **out, struct error *err);

#endif
