/* SPDX-License-Identifier: MIT */
/* Functions that make the file systems and other surroundings of a container. The container's first
 * process calls them in its new namespaces. */
#ifndef GUEST_SETUP_H
#define GUEST_SETUP_H

#include "base/error.h"
#include "guest/container/contained.h"

/* Sets up the container: "/" is then the container's root, and no file of the guest is visible
 * except in the mounts of the plan. A terminal of the container also needs devices_console(). */
int setup_container(const struct contained_plan *plan, struct error *err);

/* Mounts an overlay over the container's root. `lower` is a descriptor of the root, which is a
 * mount that only this container has. Defined in overlay.c. */
int overlay_lay(const struct contained_plan *plan, int lower, struct error *err);

/* Makes the devices and links that programs expect in /dev, in addition to the mounts of the plan.
 * `root` is a descriptor of the container's root. The guest's /dev must still be visible. Defined
 * in devices.c. */
int devices_make(int root, struct error *err);
/* Mounts the terminal, which is of the container's own devpts, at /dev/console, if the container
 * has its own /dev. */
int devices_console(int terminal, struct error *err);

#endif
