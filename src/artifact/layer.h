/* SPDX-License-Identifier: MIT */
/* One layer of an image: a tar archive, plain or compressed, put over what is there. */
#ifndef ARTIFACT_LAYER_H
#define ARTIFACT_LAYER_H

#include "artifact/rootfs.h"
#include "base/buf.h"

/* done and total: compressed bytes of all layers before this one and in all, for the progress. The
 * layer may be hostile. Nodes of devices and sockets are left out. */
int layer_apply(struct rootfs *fs, const char *file, uint64_t done, uint64_t total,
		struct error *err);

/* Whether the tar archive has a file of that name, a leading "./" apart; -1. */
int layer_has(const char *archive, const char *name, struct error *err);

/* Appends the contents of the file of that name; more than out may hold is an error. */
int layer_read(const char *archive, const char *name, struct buf *out, struct error *err);

#endif
