/* SPDX-License-Identifier: MIT */
/* Tar archives, plain or compressed, which may be hostile: layers of an image, which are put over
 * what is there, and archives that stand alone. */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/rootfs.h"
#include "base/buf.h"

/* done and total: compressed bytes of all layers before this one and in all, for the progress.
 * Nodes of devices and sockets are left out. */
int layer_apply(struct rootfs *fs, const char *file, uint64_t done, uint64_t total,
		struct error *err);

/* What an archive that stands alone may unpack to, also where one file replaces another. */
struct layer_bounds {
	uint64_t bytes; /* of the files, in whole blocks */
	uint64_t count; /* of entries */
};
/* Takes files, directories and links: attributes, FIFOs and nodes are left out, no name hides
 * another, and none is absolute. */
int layer_unpack(struct rootfs *fs, const char *archive, const struct layer_bounds *bounds,
		 struct error *err);

/* Whether the tar archive has a file of that name, a leading "./" apart; -1. */
int layer_has(const char *archive, const char *name, struct error *err);

/* Appends the contents of the file of that name; more than out may hold is an error. */
int layer_read(const char *archive, const char *name, struct buf *out, struct error *err);

#endif
