/* SPDX-License-Identifier: MIT */
/* Writes a rootfs into a file system. */
#ifndef ARTIFACT_EXT4_FILL_H
#define ARTIFACT_EXT4_FILL_H

#include "artifact/ext4_data.h"

/* Writes the whole writer->rootfs into the empty file system writer->fs. */
int ext4_fill(struct ext4_writer *writer, struct error *err);

#endif
