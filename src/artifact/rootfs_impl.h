/* SPDX-License-Identifier: MIT */
/* Between the files of rootfs.h. */
#ifndef ARTIFACT_ROOTFS_IMPL_H
#define ARTIFACT_ROOTFS_IMPL_H

#include "artifact/rootfs.h"

#define ROOTFS_NAME_MAX 255
#define ROOTFS_PATH_MAX TREE_PATH_MAX

struct rootfs_node {
	struct rootfs_node *parent; /* NULL: the root */
	char *name;
	struct rootfs_file *file;
	void *children; /* of tsearch(), by name */
	unsigned layer; /* that said what it is */
	size_t path_len;
};

struct rootfs {
	struct rootfs_node root;
	int data_dir;
	unsigned layer;
	int64_t time;
	uint64_t last_data, bytes, count, text;
	struct rootfs_bounds bounds;
};

/* The name of its data file. */
void rootfs_data_name(const struct rootfs_file *file, char out[24]);

#endif
