/* SPDX-License-Identifier: MIT */
/* Makes the surroundings of a container. Its first process runs these functions in its new
 * namespaces. */
#ifndef GUEST_SETUP_H
#define GUEST_SETUP_H

#include "base/error.h"
#include "guest/container/contained.h"

/* Sets up the container: "/" is then the container's root, and nothing of the guest is visible
 * except what was mounted. A terminal of the container also needs devices_console(). */
int setup_container(const struct contained_plan *plan, struct error *err);

/* Lays an overlay over the root, which is a mount of the container's own and stays available in
 * `lower`, a descriptor. Defined in overlay.c. */
int overlay_lay(const struct contained_plan *plan, int lower, struct error *err);

/* Makes what programs expect in /dev besides the mounts of the plan. root is a descriptor; the
 * guest's own /dev must still be visible. Defined in devices.c. */
int devices_make(int root, struct error *err);
/* Makes the terminal, which is from the container's own devpts, its /dev/console, if the container
 * has a /dev of its own. */
int devices_console(int terminal, struct error *err);

#endif
