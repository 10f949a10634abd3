/* SPDX-License-Identifier: MIT */
/* Mounts the disks and shared directories of the run config. */
#ifndef GUEST_ATTACH_H
#define GUEST_ATTACH_H

#include <jansson.h>

#include "base/error.h"

/* Mounts config.disks and config.shares. A mountpoint below another one is mounted after it.
 * Otherwise the disks come first, in the order of the config. Makes missing mountpoints. Waits for
 * devices, so it must run in a separate process. Stops at the first mount that fails. The error
 * names the disk or the mountpoint. */
int attach_all(json_t *config, struct error *err);

#endif
