/* SPDX-License-Identifier: MIT */
/* Unpacks a tar archive into a rootfs. The archive may be compressed and may be hostile. The
 * archive is a layer of an image, which changes files of lower layers, or is independent of other
 * archives. The archive is read from the current position of a descriptor. These functions should
 * be called in a reader (reader.h), because a hostile archive may take over the process that reads
 * it. */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/digest.h"
#include "artifact/rootfs.h"

/* Loads the files of the host that layer_apply() and layer_unpack() need. A reader calls this
 * function before it gives up the right to open files. A process that is not a reader need not call
 * it: the two functions do. */
int layer_prepare(struct error *err);

/* Applies a layer to `fs`. Leaves out device nodes and sockets. Writes the SHA-256 of the layer's
 * unpacked bytes to `diff_id`. The caller must compare this digest with the one in the image's
 * configuration. For the progress line, `done` is the number of stored bytes of the layers before
 * this layer, and `total` is the number of stored bytes of all layers. */
int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, char diff_id[DIGEST_TEXT],
		struct error *err);

/* The bounds on the contents of an archive that is not a layer. A file counts even if a later entry
 * of the archive replaces it. */
struct layer_bounds {
	uint64_t bytes; /* largest number of bytes of all files, counted in whole blocks */
	uint64_t count; /* largest number of entries */
};
/* Unpacks an archive that is not a layer into `fs`. Unpacks files, directories and links, and
 * leaves out attributes, FIFOs and device nodes. Unlike in a layer, no name hides another file. An
 * absolute name is an error. `name` is the name of the archive for error messages. */
int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err);

#endif
