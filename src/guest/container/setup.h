/* SPDX-License-Identifier: MIT */
/* Functions that set up the file systems, the host name and the kernel settings of a container. The
 * container's first process calls these functions in its new namespaces. */
#ifndef GUEST_SETUP_H
#define GUEST_SETUP_H

#include "base/error.h"
#include "guest/container/contained.h"

/* Sets up the container. After that "/" is the container's root, and only the mounts of the plan
 * show files of the guest. If the container has a terminal, the caller must then call
 * devices_console(). */
int setup_container(const struct contained_plan *plan, struct error *err);

/* Mounts an overlay over the container's root. `lower` is a file descriptor of that root, which is
 * a mount of this container alone. Defined in overlay.c. */
int overlay_lay(const struct contained_plan *plan, int lower, struct error *err);

/* Creates the devices and links that programs expect in /dev, in addition to the mounts of the
 * plan. `root` is a file descriptor of the container's root. Must be called while the guest's /dev
 * is still mounted, since its devices may be bind mounted. Defined in devices.c. */
int devices_make(int root, struct error *err);
/* Bind mounts the terminal at /dev/console, if the container has its own /dev. `terminal` must be a
 * terminal of the container's own /dev/pts. */
int devices_console(int terminal, struct error *err);

#endif
