/* SPDX-License-Identifier: MIT */
/*
 * The contents of an image, which are put together file by file, or layer over layer. They are a
 * tree in memory. Only the bytes of regular files are on disk, each in a numbered file of its own.
 * No name or link of the tree is ever followed on the host: links to directories are resolved in
 * the tree, and nothing is above its root. ext4_make() writes the tree into a file system, so that
 * nobody needs the right to give files to others.
 */
#ifndef ARTIFACT_ROOTFS_H
#define ARTIFACT_ROOTFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

#define ROOTFS_PATH_MAX 4000 /* bytes: every program takes such a path */

/* An extended attribute: "security.capability". */
struct rootfs_xattr {
	char *name;
	void *value;
	size_t len;
};

/* A file of the tree. All its hard links share it. */
struct rootfs_file {
	mode_t mode; /* with the type: S_IFDIR, S_IFREG, S_IFLNK or S_IFIFO */
	uid_t uid;
	gid_t gid;
	int64_t time;  /* time of the last modification, in seconds */
	uint32_t nsec; /* the nanoseconds beyond them */
	/* S_IFLNK: the target. S_IFREG: the contents are one of these, or none at all. */
	char *text;
	char *from;	/* a file of the host */
	uint64_t data;	/* the number of a data file */
	uint64_t bytes; /* size of a regular file */
	struct rootfs_xattr *xattrs;
	size_t xattr_count;
	unsigned names;	 /* how many names the file has */
	bool counted;	 /* it counts in the contents, because it has had a name */
	uint64_t memory; /* how much memory it takes, once it is counted */
	uint32_t inode;	 /* its inode once it is written; 0: not yet */
};
/* Makes a file with one name; all but the mode is zeroed. Returns NULL with an error. */
struct rootfs_file *rootfs_file_new(mode_t mode, struct error *err);

/* Bounds on the size of the contents. */
struct rootfs_bounds {
	uint64_t bytes; /* most bytes of the files, in whole blocks */
	uint64_t count; /* most files */
	uint64_t text;	/* bytes of paths, targets of links and attributes, which are kept in memory
			 */
	bool straight;	/* no path may lead through a link */
};
extern const struct rootfs_bounds rootfs_unbounded;

struct rootfs;
struct tar_bound;
/* Makes an empty tree. data_dir stays the caller's, and must be empty except for the data files; -1
 * if no data file is opened. time: the time of directories that no layer lists. Returns NULL with
 * an error. */
struct rootfs *rootfs_new(int data_dir, int64_t time, const struct rootfs_bounds *bounds,
			  struct error *err);
void rootfs_free(struct rootfs *fs); /* NULL is fine */
void rootfs_cleanup(struct rootfs **fs);
#define auto_rootfs __attribute__((cleanup(rootfs_cleanup)))

/* Starts the next layer. All files that are added from now on belong to it. */
void rootfs_next_layer(struct rootfs *fs);

/* Returns how many bytes the layers of an image may unpack to, if its files may have so many bytes.
 */
uint64_t rootfs_most_unpacked(uint64_t bytes);
/* Returns the bound on what all layers together unpack to. Bytes that are dropped or replaced count
 * too. */
struct tar_bound *rootfs_unpacked(struct rootfs *fs);
/* Returns the counter for tar_digest() of the next layer. */
uint64_t *rootfs_bytes_behind(struct rootfs *fs);
/* Opens a new data file for file, for that many bytes. ERR_INVALID if the contents would exceed
 * their bound. */
int rootfs_open_data(struct rootfs *fs, struct rootfs_file *file, uint64_t bytes,
		     struct error *err);
/* Drops a file that got no name. */
void rootfs_drop(struct rootfs *fs, struct rootfs_file *file);

/*
 * The paths below are those of an archive: "./usr/bin/", "/usr/bin" and "usr/bin" are the same. A
 * path with ".." in it is ERR_INVALID.
 */
/* Puts file at path and replaces the file that was there. A directory that was there keeps its
 * contents. Makes missing directories of the path. Takes over file, also if it fails. */
int rootfs_put(struct rootfs *fs, const char *path, struct rootfs_file *file, struct error *err);
/* Adds another name for target, which must exist and not be a directory. */
int rootfs_link(struct rootfs *fs, const char *path, const char *target, struct error *err);
/* Makes a directory and all missing directories of the path. */
int rootfs_make_dir(struct rootfs *fs, const char *path, struct error *err);
/* Removes the file or directory that lower layers have at path, and all below it. It is no error if
 * there is none. */
int rootfs_hide(struct rootfs *fs, const char *path, struct error *err);
/* Removes all that lower layers have in a directory. It is no error if there is no directory. */
int rootfs_hide_below(struct rootfs *fs, const char *path, struct error *err);

/* Adds a directory, or a regular file or link with that text, with the time of the file system. */
int rootfs_add(struct rootfs *fs, const char *path, mode_t mode, uid_t owner, const char *text,
	       struct error *err);
/* Adds a regular file of root with the contents of a file of the host. The contents are read at the
 * end. */
int rootfs_add_copy(struct rootfs *fs, const char *path, mode_t mode, const char *from,
		    struct error *err);

/* Returns the file at path, or NULL if there is none. */
const struct rootfs_file *rootfs_find(struct rootfs *fs, const char *path);

/* Returns the size of the contents in bytes. Each file, also a directory, counts in whole blocks of
 * 4 KiB. */
uint64_t rootfs_bytes(const struct rootfs *fs);
uint64_t rootfs_count(const struct rootfs *fs); /* names; the root has none */

#endif
