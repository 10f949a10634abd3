/* SPDX-License-Identifier: MIT */
/*
 * What the containers of a machine see of the host: <root>/.shares/<machine>. This directory is a
 * shared mount of its own, so the machine also sees what is mounted below it later. For each
 * container it has <guest>/rootfs, and <guest>/<n> for a volume or a single file.
 *
 * Each of these is a clone of the mounts at its source. What is mounted below the source later
 * appears in the clone too, unless the clone is BIND_VOLUME_APART or read-only: a later mount has
 * the flags of its origin, so it would be writable. What is unmounted in a clone stays mounted at
 * its source, with everything below it.
 */
#ifndef OCI_BINDS_H
#define OCI_BINDS_H

#include <stdbool.h>

#include "base/error.h"

/* Opens the directory, and makes it if it is missing. Returns a descriptor; -1 on failure. */
int binds_open(const char *share, struct error *err);

enum bind_kind {
	BIND_ROOT,	  /* set-user-ID programs work */
	BIND_VOLUME,	  /* nosuid, nodev */
	BIND_VOLUME_APART /* like BIND_VOLUME, without later mounts below its source */
};
struct bind_options {
	enum bind_kind kind;
	bool recursive; /* with the mounts that are below its source now, like rbind */
	bool read_only;
};
/* Mounts the file or directory of source (a descriptor, O_PATH) at <share>/<guest>/<name>. */
int binds_add(const char *share, const char *guest, const char *name, int source,
	      const struct bind_options *options, struct error *err);
/* Removes everything of a container, whichever process put it there: a process that makes a
 * container may be killed at any step. */
void binds_remove(const char *share, const char *guest);
/* Removes the directory of a machine that is gone. Nothing sees any more what its containers left
 * there. */
void binds_close(const char *share);

#endif
