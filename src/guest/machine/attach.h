/* SPDX-License-Identifier: MIT */
/* Mounts the disks and shared directories of the run config. */
#ifndef GUEST_ATTACH_H
#define GUEST_ATTACH_H

#include <jansson.h>

#include "base/error.h"

/* Mounts the disks and the shares of the config. Shorter paths of mount points come first, so that
 * no mount hides another one. Creates missing mount points. Waits for devices, so this function
 * must run in a separate process. If a mount fails, returns -1, and the error names the disk or the
 * mount point. */
int attach_all(json_t *config, struct error *err);

#endif
