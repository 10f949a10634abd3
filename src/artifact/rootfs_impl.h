/* SPDX-License-Identifier: MIT */
/* Declares what is shared by the files that implement rootfs.h. */
#ifndef ARTIFACT_ROOTFS_IMPL_H
#define ARTIFACT_ROOTFS_IMPL_H

#include "artifact/rootfs.h"
#include "artifact/tar.h"

#define ROOTFS_NAME_MAX 255

struct rootfs_node {
	struct rootfs_node *parent; /* the directory that contains the node; NULL: the node is the
				     * root */
	char *name;
	struct rootfs_file *file;
	void *children;	 /* nodes of the directory: a tree of tsearch(3), sorted by name */
	unsigned layer;	 /* number of the layer from which the file is */
	unsigned pruned; /* number of a layer: all files in the directory are from this layer or
			  * from later layers; 0: unknown */
	size_t path_len;
};

struct rootfs {
	struct rootfs_node root;
	int data_dir;
	const struct rootfs_source *source; /* NULL: the contents are in data files */
	unsigned layer;
	int64_t time;
	uint64_t last_data, bytes, count, text;
	struct tar_bound unpacked; /* number of bytes to which the layers so far have unpacked, and
				    * the bound on this number */
	uint64_t behind;	   /* number of bytes after the ends of the archives, for all layers
				    * so far */
	uint64_t followed;	   /* number of bytes in the targets of all links that were followed
				    * so far */
	struct rootfs_bounds bounds;
};

/* Counts bytes that are kept in memory. ERR_INVALID: the sum of these bytes would be more than
 * bounds.text. */
int rootfs_take_text(struct rootfs *fs, uint64_t bytes, struct error *err);
/* Counts a file when it gets its first name. The file counts until its last name is removed.
 * ERR_INVALID: the memory for it would exceed bounds.text. */
int rootfs_count_file(struct rootfs *fs, struct rootfs_file *file, struct error *err);

/* Opens the file of the host or the data file that has the contents of a file. Returns a descriptor
 * for reading, which the caller closes. */
int rootfs_read_data(const struct rootfs *fs, const struct rootfs_file *file, struct error *err);
/* Removes the data file of a file, if the file has one. */
void rootfs_remove_data(const struct rootfs *fs, struct rootfs_file *file);

#endif
