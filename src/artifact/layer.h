/* SPDX-License-Identifier: MIT */
/* Tar archives, plain or compressed, which may be hostile: layers of an image, which are put over
 * what is there, and archives that stand alone. They come as a descriptor, which is read from where
 * it is; for who has rights to lose there is reader.h. */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/digest.h"
#include "artifact/rootfs.h"

/* Loads what of the host's files the functions below need. They do it themselves where they may. */
int layer_prepare(struct error *err);

/* done and total: compressed bytes of all layers before this one and in all, for the progress.
 * Nodes of devices and sockets are left out. diff_id: the SHA-256 of the layer's unpacked bytes,
 * which is to be the one that the image's configuration has for it. */
int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, char diff_id[DIGEST_TEXT],
		struct error *err);

/* What an archive that stands alone may unpack to, also where one file replaces another. */
struct layer_bounds {
	uint64_t bytes; /* of the files, in whole blocks */
	uint64_t count; /* of entries */
};
/* Takes files, directories and links: attributes, FIFOs and nodes are left out, no name hides
 * another, and none is absolute. name: for the error. */
int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err);

#endif
