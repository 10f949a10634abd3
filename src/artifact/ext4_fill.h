/* SPDX-License-Identifier: MIT */
/* Writes a tree in memory into a file system. */
#ifndef ARTIFACT_EXT4_FILL_H
#define ARTIFACT_EXT4_FILL_H

#include "artifact/ext4_data.h"

/* Writes the whole rootfs into an empty file system. */
int ext4_fill(struct ext4_writer *writer, struct error *err);

#endif
