/* SPDX-License-Identifier: MIT */
/* Mounts the disks and shared directories of the run config. */
#ifndef GUEST_ATTACH_H
#define GUEST_ATTACH_H

#include <jansson.h>

#include "base/error.h"

/* Mounts config.disks and config.shares. A mountpoint below another one comes after it; otherwise
 * the disks come first, in the order of the config. Missing mountpoints are made. The function
 * waits for devices, so it needs a process of its own. Stops at the first mount that fails; the
 * error names the mountpoint. */
int attach_all(json_t *config, struct error *err);

#endif
