/* SPDX-License-Identifier: MIT */
/*
 * Which directories of the host may be shared with a guest: the same rules wherever one is named.
 *
 * Never themselves: / /Users /Volumes /home /root /mnt /media /usr /usr/local /opt /srv /tmp, and
 * whatever holds somebody's home, the state directory or the cache directory. Never, with
 * everything below: /etc /proc /sys /dev /run /var /boot, the system's programs and what they read
 * (/bin /lib /usr/bin /usr/share and the like: the table has them), the state directory and the
 * cache directory: a guest that could write there would be its own supervisor. They are compared as
 * directories and not as names: by device and inode, and by their places in their file systems, so
 * that neither a link nor a bind mount leads around a rule. Nor may one of them be mounted below.
 *
 * Nothing of another user: nobody else's id means anything in a share.
 *
 * What was looked at is what is used: the answer is a descriptor, and no name is resolved again.
 */
#ifndef STORE_SHARE_DIR_H
#define STORE_SHARE_DIR_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Opens path (O_PATH) if it may be shared. state_dir: of the workspace that is to have it; it need
 * not exist. ERR_INVALID, ERR_DENIED and ERR_NOT_FOUND name the path and the next step.
 */
int share_dir_open(const char *path, const char *state_dir, bool read_only, struct error *err);

#endif
