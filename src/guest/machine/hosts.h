/* SPDX-License-Identifier: MIT */
/*
 * Completes the file /etc/hosts of the guest's root file system. An image for containers has no
 * such file, since container engines create it. Without the file the name "localhost" is not known.
 * A look-up of the machine's own name would go to the host's resolver, which should not see that
 * name.
 */
#ifndef GUEST_HOSTS_H
#define GUEST_HOSTS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define HOSTS_FILE "/etc/hosts"
#define HOSTS_BYTES 65536

/*
 * Writes the new contents of the file to `out`, for a machine with the name `name`. Adds lines for
 * localhost, ip6-localhost, ip6-loopback and the machine's name, if no line has them. Marks the
 * line of the machine's name with a comment, and removes a marked line that has another name. Keeps
 * all other lines. Returns 1 if `out` is different from `text`, 0 if `out` is the same as `text`,
 * or -1 if there is no memory.
 */
int hosts_complete(const char *text, size_t len, const char *name, struct buf *out,
		   struct error *err);

/*
 * Completes the file at `path`. Writes into the existing file, so that this works even if the disk
 * is full or if the file is a mount point. Does nothing if the directory of the file is missing, or
 * if `path` is something else than a regular file of at most HOSTS_BYTES bytes. In these cases the
 * image handles host names in its own way.
 */
int hosts_keep(const char *path, const char *name, struct error *err);

#endif
