/* SPDX-License-Identifier: MIT */
/*
 * Functions for the directory <root>/.shares/<machine>. It has all files of the host that the
 * containers of a machine can see. The directory is a mount with shared propagation, so that the
 * machine sees mounts that are made in it later. The entry for a container's root is
 * <guest>/rootfs, and the entry for a volume or a single file is <guest>/<n>.
 *
 * Each entry is a clone of the mounts at its source. If a mount is made below the source later, it
 * appears in the clone too, unless the clone is BIND_VOLUME_APART or read-only. (Such a mount would
 * keep its own flags, so it could be writable in a read-only clone.) If a mount is unmounted in a
 * clone, it stays mounted at the source, with all mounts below it.
 */
#ifndef OCI_BINDS_H
#define OCI_BINDS_H

#include <stdbool.h>

#include "base/error.h"

/* Opens the directory `share`. Makes the directory first if it is missing. Returns a descriptor, or
 * -1 with an error. */
int binds_open(const char *share, struct error *err);

enum bind_kind {
	BIND_ROOT,	  /* the root of a container, in which set-user-ID programs work */
	BIND_VOLUME,	  /* a volume, mounted nosuid and nodev */
	BIND_VOLUME_APART /* a volume that does not get later mounts below its source */
};
struct bind_options {
	enum bind_kind kind;
	/* true: the clone has the mounts below the source (as with the mount option rbind) */
	bool recursive;
	bool read_only;
};
/* Mounts a file or directory at <share>/<guest>/<name>. `source` is a descriptor (O_PATH) of that
 * file or directory. */
int binds_add(const char *share, const char *guest, const char *name, int source,
	      const struct bind_options *options, struct error *err);
/* Removes <share>/<guest> and unmounts all mounts in it. The directory may be left from a process
 * that was killed before it completed the container. A failure is not reported. */
void binds_remove(const char *share, const char *guest);
/* Removes the directory of a machine that has ended, with everything that its containers have left
 * there. */
void binds_close(const char *share);

#endif
