/* SPDX-License-Identifier: MIT */
/* The surroundings of a container, made by its first process from within its new namespaces. */
#ifndef GUEST_SETUP_H
#define GUEST_SETUP_H

#include "base/error.h"
#include "guest/container/contained.h"

/* After it "/" is the container's root, and nothing of the guest's is to be seen but what was
 * mounted. For what a pty of the container's still needs: devices_console(). */
int setup_container(const struct contained_plan *plan, struct error *err);

/* overlay.c: over the root, which is a mount of the container's own, and stays in `lower`, a
 * descriptor. */
int overlay_lay(const struct contained_plan *plan, int lower, struct error *err);

/* devices.c: what programs expect in /dev beside what the plan mounts. root: a descriptor; the
 * guest's own /dev is still to be seen. */
int devices_make(int root, struct error *err);
/* The terminal, of the container's own devpts, becomes its /dev/console, where it has a /dev of its
 * own. */
int devices_console(int terminal, struct error *err);

#endif
