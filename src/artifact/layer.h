/* SPDX-License-Identifier: MIT */
/* Tar archives, plain or compressed, which may be hostile: layers of an image, which are put over
 * what is there, and archives that stand alone. They come as a descriptor, which is read from where
 * it is; for who has rights to lose there is reader.h. */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/rootfs.h"
#include "base/buf.h"

/* Of the files of the host, all that these will need; they load it themselves where they may. */
int layer_load_locale(struct error *err);

/* done and total: compressed bytes of all layers before this one and in all, for the progress.
 * Nodes of devices and sockets are left out. */
int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, struct error *err);

/* What an archive that stands alone may unpack to, also where one file replaces another. */
struct layer_bounds {
	uint64_t bytes; /* of the files, in whole blocks */
	uint64_t count; /* of entries */
};
/* Takes files, directories and links: attributes, FIFOs and nodes are left out, no name hides
 * another, and none is absolute. name: for the error. */
int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err);

/* The error of an archive that LIMIT_ARCHIVE_MEMORY_MIB is too little for. */
int layer_out_of_memory(struct error *err);

/* Whether the tar archive has a file of that name, a leading "./" apart; -1. */
int layer_has(int fd, const char *name, struct error *err);

/* Appends the contents of the file of that name; more than out may hold is an error. */
int layer_read(int fd, const char *name, struct buf *out, struct error *err);

#endif
