/* SPDX-License-Identifier: MIT */
/*
 * A root file system being put together from the layers of an image, one over the other. It is a
 * tree in memory; only the bytes of regular files are on disk, each in a numbered file of its own.
 * No name or link of a layer is ever followed on the host: links to directories are resolved in the
 * tree, in which there is nothing above the root.
 */
#ifndef ARTIFACT_ROOTFS_H
#define ARTIFACT_ROOTFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "artifact/tree.h"
#include "base/error.h"

/* What hard links share. */
struct rootfs_file {
	mode_t mode; /* with the type: S_IFDIR, S_IFREG, S_IFLNK or S_IFIFO */
	uid_t uid;
	gid_t gid;
	int64_t time;	/* of modification, in seconds */
	char *target;	/* S_IFLNK */
	uint64_t data;	/* number of the data file; 0: none */
	uint64_t bytes; /* of a regular file */
	struct tree_xattr *xattrs;
	size_t xattr_count;
	unsigned names; /* that lead to it */
	bool counted;	/* in the contents: it has had a name */
	uint64_t text;	/* of its target and attributes, once it is counted */
	char *staged;	/* the first of them, once it is staged */
};
/* Of one name, zeroed but for the mode; NULL. */
struct rootfs_file *rootfs_file_new(mode_t mode, struct error *err);

/* What the contents may come to. */
struct rootfs_bounds {
	uint64_t bytes; /* of the files, in whole blocks */
	uint64_t count; /* of files */
	uint64_t text;	/* bytes of paths, targets of links and attributes, which are kept in memory
			 */
};

struct rootfs;
/* data_dir stays the caller's, and empty but for our files. time is that of directories that no
 * layer lists. NULL. */
struct rootfs *rootfs_new(int data_dir, int64_t time, const struct rootfs_bounds *bounds,
			  struct error *err);
void rootfs_free(struct rootfs *fs); /* NULL is fine */
void rootfs_cleanup(struct rootfs **fs);
#define auto_rootfs __attribute__((cleanup(rootfs_cleanup)))

/* What comes from here on belongs to the next layer. */
void rootfs_next_layer(struct rootfs *fs);

/* Opens the data file of file, which is to be of that many bytes. ERR_INVALID when the contents
 * outgrow their bound. */
int rootfs_open_data(struct rootfs *fs, struct rootfs_file *file, uint64_t bytes,
		     struct error *err);
/* Drops a file that got no name. */
void rootfs_drop(struct rootfs *fs, struct rootfs_file *file);

/*
 * Paths are those of an archive: "./usr/bin/", "/usr/bin" and "usr/bin" are the same. One with ".."
 * in it is ERR_INVALID.
 */
/* Gives file its name, in place of what had it; a directory keeps what is in it. Missing
 * directories on the way are made. Takes file in any case. */
int rootfs_put(struct rootfs *fs, const char *path, struct rootfs_file *file, struct error *err);
/* A further name of target, which must be there and no directory. */
int rootfs_link(struct rootfs *fs, const char *path, const char *target, struct error *err);
/* Makes a directory, and those on the way, where there is none. */
int rootfs_make_dir(struct rootfs *fs, const char *path, struct error *err);
/* Removes what lower layers have of that name, and below it. Nothing there: nothing to do. */
int rootfs_hide(struct rootfs *fs, const char *path, struct error *err);
/* The same for all that is in a directory. */
int rootfs_hide_below(struct rootfs *fs, const char *path, struct error *err);

/* In whole blocks of 4 KiB, directories included. */
uint64_t rootfs_bytes(const struct rootfs *fs);
uint64_t rootfs_count(const struct rootfs *fs); /* files */

/* Moves everything into the empty directory stage and lists it. */
int rootfs_stage(struct rootfs *fs, int stage, struct tree *tree, struct error *err);

#endif
