/* SPDX-License-Identifier: MIT */
/* Network cards that the caller of start connects to taps of its own. These cards replace the
 * network card of the config. */
#ifndef SUPERVISOR_LINKS_H
#define SUPERVISOR_LINKS_H

#include <jansson.h>

#include "base/error.h"
#include "supervisor/options.h"

/* Reads the list of cards from options->links_fd: {"interfaces":[{"mac",..},..]}. This list is sent
 * to the guest (docs/agent-protocol.md). The descriptors from options->taps_fd on are the taps, one
 * for each card. The function makes them close-on-exec. The caller releases *out. If links_fd is
 * -1, there are no such cards, and *out is not changed. */
int links_read(const struct options *options, json_t **out, struct error *err);

#endif
