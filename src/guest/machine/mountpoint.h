/* SPDX-License-Identifier: MIT */
#ifndef GUEST_MOUNTPOINT_H
#define GUEST_MOUNTPOINT_H

#include "base/error.h"

/*
 * Opens the directory at path, which is absolute, and makes what is missing of it (mode 0755). Root
 * mounts there, so a user of the guest must not choose where that is: a link on the way is followed
 * only if root made it, in a directory in which nobody else can make one. Returns a descriptor
 * (O_PATH); ERR_DENIED names a link that is another user's.
 */
int mountpoint_open(const char *path, struct error *err);

/* What mount(2) is told in place of the directory's name, which may lead elsewhere by then. */
#define MOUNTPOINT_NAME 32
void mountpoint_name(int fd, char out[MOUNTPOINT_NAME]);

#endif
