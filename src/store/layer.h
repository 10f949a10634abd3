/* SPDX-License-Identifier: MIT */
/*
 * An empty qcow2 layer over a raw disk, and the check whether a file is such a layer. A layer does
 * not name the file of its disk. The VMM gets that disk as a descriptor, so nothing that is written
 * in a layer can make the VMM open another file.
 */
#ifndef STORE_LAYER_H
#define STORE_LAYER_H

#include <stdint.h>

#include "base/error.h"

/* Writes a layer to an empty file (or memfd). `size` is the size of the disk in bytes. */
int layer_write(int fd, uint64_t size, struct error *err);

/*
 * Functions that return the least and the greatest length of the layer's file in bytes. `size` is
 * the size of the disk. The least is the length that layer_write() makes. The greatest is the
 * length of a layer with twice the contents of the whole disk: VMMs that were killed may have left
 * clusters that are used for nothing.
 */
uint64_t layer_least(uint64_t size);
uint64_t layer_most(uint64_t size);
/*
 * Finds the offset behind the last written byte of the layer, rounded up to a whole cluster. From
 * this offset on the file has only a hole. On a file system without holes the result is the length
 * of the file.
 */
int layer_end(int fd, uint64_t *out, struct error *err);

/*
 * Checks that the file is a qcow2 layer as layer_write() makes it and a VMM leaves it: version 3,
 * over a disk of `size` bytes, with no name of another file, no encryption, no snapshot, and no
 * feature that this host would act on. ERR_INVALID: the file is no such layer. The message does not
 * name the file, so the caller puts its name in front.
 */
int layer_check(int fd, uint64_t size, struct error *err);

#endif
