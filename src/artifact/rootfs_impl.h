/* SPDX-License-Identifier: MIT */
/* The interface between the files that implement rootfs.h. */
#ifndef ARTIFACT_ROOTFS_IMPL_H
#define ARTIFACT_ROOTFS_IMPL_H

#include "artifact/rootfs.h"
#include "artifact/tar.h"

#define ROOTFS_NAME_MAX 255

struct rootfs_node {
	struct rootfs_node *parent; /* NULL: the root */
	char *name;
	struct rootfs_file *file;
	void *children;	 /* a tree of tsearch(), by name */
	unsigned layer;	 /* the layer that set the file */
	unsigned pruned; /* all that is in the directory came with this layer or a later one; 0: not
			  * known */
	size_t path_len;
};

struct rootfs {
	struct rootfs_node root;
	int data_dir;
	unsigned layer;
	int64_t time;
	uint64_t last_data, bytes, count, text;
	struct tar_bound unpacked; /* how much the layers so far have unpacked to */
	uint64_t behind;	   /* bytes behind the ends of the archives of the layers so far */
	uint64_t followed;	   /* bytes of the targets of links that were followed so far */
	struct rootfs_bounds bounds;
};

/* Counts bytes that are kept in memory. ERR_INVALID if more than bounds.text bytes are then
 * kept. */
int rootfs_take_text(struct rootfs *fs, uint64_t bytes, struct error *err);
/* Counts a file, when it gets its first name. The file counts until its last name is gone.
 * ERR_INVALID if bounds.text is exceeded. */
int rootfs_count_file(struct rootfs *fs, struct rootfs_file *file, struct error *err);

/* Opens the file of the host, or the data file, that has the contents of a file. Returns a
 * descriptor for reading, which the caller closes. */
int rootfs_read_data(const struct rootfs *fs, const struct rootfs_file *file, struct error *err);
/* Removes the data file of a file if it has one. */
void rootfs_remove_data(const struct rootfs *fs, struct rootfs_file *file);

#endif
