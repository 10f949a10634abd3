/* SPDX-License-Identifier: MIT */
/*
 * /etc/hosts of the guest's root file system. An image for containers has no such file, since
 * engines make it. Without the file the name "localhost" is not known, and a look-up of the
 * machine's own name goes to the host's resolver, which should not get that name.
 */
#ifndef GUEST_HOSTS_H
#define GUEST_HOSTS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define HOSTS_FILE "/etc/hosts"
#define HOSTS_BYTES 65536

/*
 * Writes to `out` the new contents of the file for a machine of that name. localhost,
 * ip6-localhost, ip6-loopback and the machine's name get a line if no line has them. The line of
 * the machine's name is marked as the agent's, and a marked line of another name is removed. All
 * other lines are kept. Returns 1 if `out` is different from `text`, 0 if not, or -1 if there is no
 * memory.
 */
int hosts_complete(const char *text, size_t len, const char *name, struct buf *out,
		   struct error *err);

/*
 * Completes the file at `path`, in place, so that a full disk or a mount over an existing file does
 * no harm. Does nothing if its directory is missing, or if `path` is not a regular file of at most
 * HOSTS_BYTES: in these cases the image has chosen so.
 */
int hosts_keep(const char *path, const char *name, struct error *err);

#endif
