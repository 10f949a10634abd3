/* SPDX-License-Identifier: MIT */
/* Unpacks a tar archive into a rootfs. The archive may be compressed and may be hostile. It is a
 * layer of an image, which changes files of lower layers, or it stands alone. It is read from the
 * position of a descriptor. A process that has rights to lose calls these functions in a reader
 * (reader.h). */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/digest.h"
#include "artifact/rootfs.h"

/* Loads the files of the host that layer_apply() and layer_unpack() need. A reader calls this
 * function before it gives up the right to open files. In any other process, the two functions call
 * it themselves. */
int layer_prepare(struct error *err);

/* Puts a layer over `fs`. Leaves out device nodes and sockets. Writes the SHA-256 of the layer's
 * unpacked bytes to `diff_id`. The caller must compare this digest with the one in the image's
 * configuration. `done` and `total` are for the progress line: the stored bytes of the layers
 * before this layer, and of all layers. */
int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, char diff_id[DIGEST_TEXT],
		struct error *err);

/* The bounds on the contents of an archive that stands alone. A file still counts if the same
 * archive replaces it later. */
struct layer_bounds {
	uint64_t bytes; /* largest number of bytes of all files, counted in whole blocks */
	uint64_t count; /* most entries */
};
/* Unpacks an archive that stands alone into `fs`. Unpacks files, directories and links, and leaves
 * out attributes, FIFOs and device nodes. Unlike in a layer, no name hides another file. An
 * absolute name is an error. `name` is the name of the archive for error messages. */
int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err);

#endif
