/* SPDX-License-Identifier: MIT */
/* Functions that make the file systems and the other surroundings of a container. The container's
 * first process calls them in its new namespaces. */
#ifndef GUEST_SETUP_H
#define GUEST_SETUP_H

#include "base/error.h"
#include "guest/container/contained.h"

/* Sets up the container. After that "/" is the container's root, and no file of the guest is
 * visible except in the mounts of the plan. If the container has a terminal, devices_console() must
 * be called too. */
int setup_container(const struct contained_plan *plan, struct error *err);

/* Mounts an overlay over the container's root. `lower` is a descriptor of that root, which is a
 * mount that no other container has. Defined in overlay.c. */
int overlay_lay(const struct contained_plan *plan, int lower, struct error *err);

/* Makes the devices and links that programs expect in /dev, in addition to the mounts of the plan.
 * `root` is a descriptor of the container's root. Must be called while the guest's /dev is still
 * visible. Defined in devices.c. */
int devices_make(int root, struct error *err);
/* Mounts the terminal at /dev/console, if the container has its own /dev. The terminal must be from
 * the container's own devpts. */
int devices_console(int terminal, struct error *err);

#endif
