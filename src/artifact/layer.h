/* SPDX-License-Identifier: MIT */
/* Unpacks tar archives, plain or compressed, which may be hostile. An archive is a layer of an
 * image, which is put over the contents that are there, or it stands alone. It is read from the
 * position of a descriptor. A process that has rights to lose uses reader.h instead. */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/digest.h"
#include "artifact/rootfs.h"

/* Loads the files of the host that the functions below need. These functions load them by
 * themselves in a process that is allowed to. */
int layer_prepare(struct error *err);

/* Puts a layer over fs. done and total, for the progress: the compressed bytes of all layers before
 * this one, and of all layers. Device nodes and sockets are left out. Writes to diff_id the SHA-256
 * of the layer's unpacked bytes, which must be equal to the one in the image's configuration. */
int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, char diff_id[DIGEST_TEXT],
		struct error *err);

/* The most that an archive that stands alone may unpack to. A file that another one replaces counts
 * too. */
struct layer_bounds {
	uint64_t bytes; /* most bytes of the files, in whole blocks */
	uint64_t count; /* most entries */
};
/* Unpacks an archive that stands alone into fs. Takes files, directories and links, and leaves out
 * attributes, FIFOs and device nodes. No name hides another one, and no name is absolute. name: for
 * the error. */
int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err);

#endif
