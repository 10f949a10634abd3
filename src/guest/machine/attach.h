/* SPDX-License-Identifier: MIT */
/* The disks and shared directories of the run config. */
#ifndef GUEST_ATTACH_H
#define GUEST_ATTACH_H

#include <jansson.h>

#include "base/error.h"

/* Mounts config.disks and config.shares. A mountpoint below another one comes after it, else the
 * disks come first, in the order of the config. Mountpoints are made where they are missing. Waits for devices: for a process of its own. Stops at the first that fails, and
 * names it. */
int attach_all(json_t *config, struct error *err);

#endif
