/* SPDX-License-Identifier: MIT */
/*
 * What a machine's containers see of the host: <root>/.shares/<machine>, which is a mount of its
 * own and shared, so that what is mounted below it later is seen by the machine too; and in it for
 * each container <guest>/rootfs, and <guest>/<n> for a volume or a single file.
 *
 * Each is a clone of the mounts at its source. What is mounted below the source later appears in
 * the clone too, unless the clone is BIND_VOLUME_APART or read-only: a mount that comes later has the
 * flags of where it comes from, so that it could be written to. What is unmounted in a clone stays
 * mounted at its source, with all that is below it.
 */
#ifndef OCI_BINDS_H
#define OCI_BINDS_H

#include <stdbool.h>

#include "base/error.h"

/* The directory, made where it is missing. */
int binds_open(const char *share, struct error *err);

enum bind_kind {
	BIND_ROOT,	  /* with set-user-ID programs */
	BIND_VOLUME,	  /* nosuid, nodev */
	BIND_VOLUME_APART /* and without what is mounted below its source from now on */
};
struct bind_options {
	enum bind_kind kind;
	bool recursive; /* with what is mounted below its source now, as rbind says */
	bool read_only;
};
/* Mounts what source is (a descriptor, O_PATH) at <share>/<guest>/<name>. */
int binds_add(const char *share, const char *guest, const char *name, int source,
	      const struct bind_options *options, struct error *err);
/* All that is there, whoever put it there: who makes a container may be killed at any step. */
void binds_remove(const char *share, const char *guest);
/* With the machine gone; what containers left has nobody who sees it. */
void binds_close(const char *share);

#endif
