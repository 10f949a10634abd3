/* SPDX-License-Identifier: MIT */
/*
 * The directory <root>/.shares/<machine>, which has all files of the host that the containers of a
 * machine can see. It is a mount with shared propagation, so the machine also sees later mounts
 * below it. It has <guest>/rootfs for each container, and <guest>/<n> for each volume or single
 * file.
 *
 * Each of these entries is a clone of the mounts at its source. A later mount below the source
 * appears in the clone too, unless the clone is BIND_VOLUME_APART or read-only: a later mount keeps
 * its own flags, and could be writable in a read-only clone. If a mount is unmounted in a clone, it
 * stays mounted at the source, with everything below it.
 */
#ifndef OCI_BINDS_H
#define OCI_BINDS_H

#include <stdbool.h>

#include "base/error.h"

/* Opens the directory `share`, and makes it if it is missing. Returns a descriptor, or -1 with an
 * error. */
int binds_open(const char *share, struct error *err);

enum bind_kind {
	BIND_ROOT,	  /* a root, in which set-user-ID programs work */
	BIND_VOLUME,	  /* a volume, mounted nosuid and nodev */
	BIND_VOLUME_APART /* a volume that does not get later mounts below its source */
};
struct bind_options {
	enum bind_kind kind;
	bool recursive; /* clone the mounts below the source too, like rbind */
	bool read_only;
};
/* Mounts a file or directory at <share>/<guest>/<name>. `source` is its descriptor (O_PATH). */
int binds_add(const char *share, const char *guest, const char *name, int source,
	      const struct bind_options *options, struct error *err);
/* Removes <share>/<guest> with all mounts in it, also those of a process that was killed while it
 * made the container. A failure is not reported. */
void binds_remove(const char *share, const char *guest);
/* Removes the directory of a machine that has ended, with everything that its containers have left
 * there. */
void binds_close(const char *share);

#endif
