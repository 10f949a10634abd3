/* SPDX-License-Identifier: MIT */
/* Unpacks tar archives, plain or compressed, which may be hostile, into a rootfs. An archive either
 * is a layer of an image, which changes what the layers below it have made, or it stands alone. An
 * archive is read from the position of a descriptor. A process that has rights to lose calls these
 * functions in a reader (reader.h). */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/digest.h"
#include "artifact/rootfs.h"

/* Loads the files of the host that the functions below need. A reader calls this function before it
 * gives up the right to open files. In any other process the functions below call it. */
int layer_prepare(struct error *err);

/* Puts a layer over `fs`. Device nodes and sockets are left out. Writes to `diff_id` the SHA-256 of
 * the layer's unpacked bytes; the caller compares it with the one in the image's configuration.
 * `done` and `total` are for the progress line: the stored bytes of the layers before this layer,
 * and of all layers. */
int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, char diff_id[DIGEST_TEXT],
		struct error *err);

/* The bounds on the contents of an archive that stands alone. A file that is replaced by a later
 * file of the same archive counts too. */
struct layer_bounds {
	uint64_t bytes; /* most bytes of the files, in whole blocks */
	uint64_t count; /* most entries */
};
/* Unpacks an archive that stands alone into `fs`. Takes files, directories and links, and leaves
 * out attributes, FIFOs and device nodes. Unlike a layer, such an archive has no names that hide
 * another file. An absolute name is an error. `name`: name of the archive in errors. */
int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err);

#endif
