/* SPDX-License-Identifier: MIT */
/*
 * Makes an empty qcow2 layer over a raw disk, and checks whether a file is such a layer. A layer
 * does not name the file of its disk. The VMM gets that disk as a descriptor, so nothing in a layer
 * can make the VMM open another file.
 */
#ifndef STORE_LAYER_H
#define STORE_LAYER_H

#include <stdint.h>

#include "base/error.h"

/* Writes a layer to an empty file, which may be a memfd. `size` is the size of the disk in
 * bytes. */
int layer_write(int fd, uint64_t size, struct error *err);

/*
 * Return the least and the greatest length of the layer's file in bytes. `size` is the size of the
 * disk in bytes. The least length is that of the layer that layer_write() makes. The greatest
 * length is that of a full layer, times two, because killed VMMs may have left unused clusters.
 */
uint64_t layer_least(uint64_t size);
uint64_t layer_most(uint64_t size);
/*
 * Finds the end of the written bytes of the layer, as an offset that is rounded up to a whole
 * cluster. After this offset, the file has only a hole. On a file system without holes, sets *out
 * to the length of the file.
 */
int layer_end(int fd, uint64_t *out, struct error *err);

/*
 * Checks that the file is a qcow2 layer like one that layer_write() has made and a VMM has written
 * to. The file must have version 3 and be for a disk of `size` bytes. The file must not have the
 * name of another file, encryption, a snapshot, or a feature that the layers of layer_write() do
 * not have. ERR_INVALID: the file is not such a layer. The message does not name the file, so the
 * caller puts the name before it.
 */
int layer_check(int fd, uint64_t size, struct error *err);

#endif
