/* SPDX-License-Identifier: MIT */
/*
 * The contents of an image, put together one file after the other, or one layer over the other. It
 * is a tree in memory; only the bytes of regular files are on disk, each in a numbered file of its
 * own. No name or link of it is ever followed on the host: links to directories are resolved in the
 * tree, in which there is nothing above the root. ext4_make() writes it into a file system, so that
 * nobody needs a right to give files to others.
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

/* What hard links share. */
struct rootfs_file {
	mode_t mode; /* with the type: S_IFDIR, S_IFREG, S_IFLNK or S_IFIFO */
	uid_t uid;
	gid_t gid;
	int64_t time;  /* of modification, in seconds */
	uint32_t nsec; /* beside them */
	/* S_IFLNK: the target. S_IFREG: the contents are one of these, or none at all. */
	char *text;
	char *from;	/* a file of the host */
	uint64_t data;	/* the number of a data file */
	uint64_t bytes; /* of a regular file */
	struct rootfs_xattr *xattrs;
	size_t xattr_count;
	unsigned names;	 /* that lead to it */
	bool counted;	 /* in the contents: it has had a name */
	uint64_t memory; /* what it keeps in memory, once it is counted */
	uint32_t inode;	 /* once it is written; 0: not yet */
};
/* Of one name, zeroed but for the mode; NULL. */
struct rootfs_file *rootfs_file_new(mode_t mode, struct error *err);

/* What the contents may come to. */
struct rootfs_bounds {
	uint64_t bytes; /* of the files, in whole blocks */
	uint64_t count; /* of files */
	uint64_t text;	/* bytes of paths, targets of links and attributes, which are kept in memory
			 */
	bool straight;	/* no path may lead through a link */
};
extern const struct rootfs_bounds rootfs_unbounded;

struct rootfs;
struct tar_bound;
/* data_dir stays the caller's, and empty but for our files; -1 where no data file is opened. time
 * is that of directories that no layer lists. NULL. */
struct rootfs *rootfs_new(int data_dir, int64_t time, const struct rootfs_bounds *bounds,
			  struct error *err);
void rootfs_free(struct rootfs *fs); /* NULL is fine */
void rootfs_cleanup(struct rootfs **fs);
#define auto_rootfs __attribute__((cleanup(rootfs_cleanup)))

/* What comes from here on belongs to the next layer. */
void rootfs_next_layer(struct rootfs *fs);

/* What the layers of an image may unpack to whose files may have so many bytes. */
uint64_t rootfs_most_unpacked(uint64_t bytes);
/* What all layers together may unpack to, also where it goes nowhere or is replaced. */
struct tar_bound *rootfs_unpacked(struct rootfs *fs);
/* What tar_digest() of the next layer goes on counting from. */
uint64_t *rootfs_bytes_behind(struct rootfs *fs);
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

/* A directory, or a regular file or link with that text; of the file system's time. */
int rootfs_add(struct rootfs *fs, const char *path, mode_t mode, uid_t owner, const char *text,
	       struct error *err);
/* A regular file of root's with the contents of a file of the host, which are read at the end. */
int rootfs_add_copy(struct rootfs *fs, const char *path, mode_t mode, const char *from,
		    struct error *err);

/* What has that path; NULL: nothing. */
const struct rootfs_file *rootfs_find(struct rootfs *fs, const char *path);

/* In whole blocks of 4 KiB, directories included. */
uint64_t rootfs_bytes(const struct rootfs *fs);
uint64_t rootfs_count(const struct rootfs *fs); /* names; the root has none */

#endif
