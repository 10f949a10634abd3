/* SPDX-License-Identifier: MIT */
/*
 * /etc/hosts of the guest's root file system. An image for containers has none, since engines
 * provide one. Without the file "localhost" does not resolve, and a lookup of the machine's own
 * name goes to the host's resolver, which so learns the name.
 */
#ifndef GUEST_HOSTS_H
#define GUEST_HOSTS_H

#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

#define HOSTS_FILE "/etc/hosts"
#define HOSTS_BYTES 65536

/*
 * Writes to out the new contents of the file for a machine of that name. localhost, ip6-localhost,
 * ip6-loopback and the name get a line if no line has them. The line of the name is marked as the
 * agent's, and a marked line of another name is removed. All other lines stay. Returns 1 if out
 * differs from text; 0 if not; -1 without memory.
 */
int hosts_complete(const char *text, size_t len, const char *name, struct buf *out,
		   struct error *err);

/*
 * Completes the file at path, in place, so that a full disk or a mount over an existing file does
 * no harm. Does nothing if its directory is missing, or if path is not a regular file of at most
 * HOSTS_BYTES: then the image wants it so.
 */
int hosts_keep(const char *path, const char *name, struct error *err);

#endif
