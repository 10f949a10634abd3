/* SPDX-License-Identifier: MIT */
/* Network cards whose taps the caller of start has made. They replace the config's card. */
#ifndef SUPERVISOR_LINKS_H
#define SUPERVISOR_LINKS_H

#include <jansson.h>

#include "base/error.h"
#include "supervisor/options.h"

/* Reads options->links_fd: {"interfaces":[{"mac",..},..]}, which the guest is told
 * (docs/agent-protocol.md). If it is -1 there are no cards, and *out is unchanged. The taps have
 * the numbers from taps_fd on, one for each card; they become close-on-exec. *out is a new
 * reference. */
int links_read(const struct options *options, json_t **out, struct error *err);

#endif
