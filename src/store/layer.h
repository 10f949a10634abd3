/* SPDX-License-Identifier: MIT */
/*
 * An empty qcow2 layer over a raw disk, and the check whether a file is such a layer of ours. A
 * layer names no file below it. The VMM gets the disk below as a descriptor, so nothing that is
 * written in a layer can make it open another file.
 */
#ifndef STORE_LAYER_H
#define STORE_LAYER_H

#include <stdint.h>

#include "base/error.h"

/* Writes a layer to an empty file (or memfd). size is the size of the disk in bytes. */
int layer_write(int fd, uint64_t size, struct error *err);

/*
 * Functions that return the least and the greatest length of the layer's file in bytes. The least
 * is the length that layer_write() makes. The greatest is for a layer that has the whole disk in
 * it, twice: killed VMMs may have lost count of clusters.
 */
uint64_t layer_least(uint64_t size);
uint64_t layer_most(uint64_t size);
/*
 * Finds the end of the written part of the layer, rounded up to a whole cluster. Behind this end
 * the file has a hole. On a file system without holes it is the end of the file.
 */
int layer_end(int fd, uint64_t *out, struct error *err);

/*
 * Checks that the file is a qcow2 layer as layer_write() makes it and a VMM leaves it: version 3,
 * over a disk of that size, with no name of another file, no encryption, no snapshot, and no
 * feature that this host would act on. Otherwise ERR_INVALID, and its text has no subject.
 */
int layer_check(int fd, uint64_t size, struct error *err);

#endif
