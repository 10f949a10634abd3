/* SPDX-License-Identifier: MIT */
/*
 * /etc/hosts of the guest's root file system. An image that was made for containers has none, since
 * engines bring one: then "localhost" does not resolve, and the machine's own name is asked of the
 * host's resolver, which so learns it.
 */
#ifndef GUEST_HOSTS_H
#define GUEST_HOSTS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define HOSTS_FILE "/etc/hosts"
#define HOSTS_BYTES 65536

/*
 * Writes to out what the file of those contents is to be for a machine of that name: localhost,
 * ip6-localhost and ip6-loopback get a line where no line has them, and so does name. The line of
 * name is marked as ours, and one that we made for another name before goes. All other lines stay as
 * they are. Returns 1 if out differs from text, 0 if not, -1 without memory.
 */
int hosts_complete(const char *text, size_t len, const char *name, struct buf *out,
		   struct error *err);

/*
 * Does that with the file at path, in place, so that a full disk or a mount over it are no obstacle
 * to a file that is there. Nothing is done where its directory is missing, or where path is something
 * else than a regular file of HOSTS_BYTES at most: that is the image's own wish.
 */
int hosts_keep(const char *path, const char *name, struct error *err);

#endif
