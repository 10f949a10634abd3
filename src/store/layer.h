/* SPDX-License-Identifier: MIT */
/*
 * An empty qcow2 layer over a raw disk, and whether a file is such a layer of ours. A layer names
 * no file below it: which disk is below is said to the VMM by descriptor, so that nothing written
 * in a layer can have another file opened.
 */
#ifndef STORE_LAYER_H
#define STORE_LAYER_H

#include <stdint.h>

#include "base/error.h"

/* Writes the layer to an empty file (or memfd). size is the disk's, in bytes. */
int layer_write(int fd, uint64_t size, struct error *err);

/*
 * How far its file reaches: as layer_write() makes it, and with all of the disk in it, twice over
 * for the clusters that killed VMMs lost count of.
 */
uint64_t layer_least(uint64_t size);
uint64_t layer_most(uint64_t size);
/*
 * Where what is written in it ends, to the whole cluster; what the file has behind that is a hole.
 * On a file system that knows no holes it is the end of the file.
 */
int layer_end(int fd, uint64_t *out, struct error *err);

/*
 * ERR_INVALID for anything but a qcow2 layer as layer_write() makes them and a VMM leaves them: of
 * version 3, over a disk of that size, with no name of another file, no encryption, no snapshot,
 * and no feature that this host would act on. The text has no subject.
 */
int layer_check(int fd, uint64_t size, struct error *err);

#endif
