/* SPDX-License-Identifier: MIT */
/* Between the files of rootfs.h. */
#ifndef ARTIFACT_ROOTFS_IMPL_H
#define ARTIFACT_ROOTFS_IMPL_H

#include "artifact/rootfs.h"
#include "artifact/tar.h"

#define ROOTFS_NAME_MAX 255

struct rootfs_node {
	struct rootfs_node *parent; /* NULL: the root */
	char *name;
	struct rootfs_file *file;
	void *children;	 /* of tsearch(), by name */
	unsigned layer;	 /* that said what it is */
	unsigned pruned; /* what is in it came with this layer or a later one; 0: not known */
	size_t path_len;
};

struct rootfs {
	struct rootfs_node root;
	int data_dir;
	unsigned layer;
	int64_t time;
	uint64_t last_data, bytes, count, text;
	struct tar_bound unpacked; /* what the layers so far have unpacked to */
	uint64_t behind;	   /* bytes behind the ends of the archives of the layers so far */
	uint64_t followed;	   /* bytes of the targets of links that were followed so far */
	struct rootfs_bounds bounds;
};

/* Takes so many bytes of what may be kept in memory. */
int rootfs_take_text(struct rootfs *fs, uint64_t bytes, struct error *err);
/* A file counts from its first name until its last one is gone. */
int rootfs_count_file(struct rootfs *fs, struct rootfs_file *file, struct error *err);

/* The contents of a file that has them in a file, to be read. */
int rootfs_read_data(const struct rootfs *fs, const struct rootfs_file *file, struct error *err);
/* Removes its data file, where it has one. */
void rootfs_remove_data(const struct rootfs *fs, struct rootfs_file *file);

#endif
