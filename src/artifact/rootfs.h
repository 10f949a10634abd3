/* SPDX-License-Identifier: MIT */
/*
 * The contents of an image, which are put together file by file, or layer over layer. The contents
 * are a tree in memory. Only the bytes of regular files are on disk, each in a numbered file of its
 * own. No name or link of the tree is ever followed on the host: a link to a directory is resolved
 * in the tree, and nothing is above the root of the tree. ext4_make() writes the tree into a file
 * system. So the files of an image can have any owner, though no file of the host changes its
 * owner.
 */
#ifndef ARTIFACT_ROOTFS_H
#define ARTIFACT_ROOTFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* The greatest length of a path in bytes. It is less than PATH_MAX, so every program takes such
 * a path. */
#define ROOTFS_PATH_MAX 4000

/* An extended attribute: "security.capability". */
struct rootfs_xattr {
	char *name;
	void *value;
	size_t len;
};

/* A file of the tree. All hard links to the file share one struct. */
struct rootfs_file {
	mode_t mode; /* with the type: S_IFDIR, S_IFREG, S_IFLNK or S_IFIFO */
	uid_t uid;
	gid_t gid;
	int64_t time;  /* time of the last modification, in seconds */
	uint32_t nsec; /* the nanoseconds of this time beyond the second */
	/* The target of a link (S_IFLNK). A regular file (S_IFREG) has its contents in `text`, in
	 * `from` or in `data`; if none of these is set, it is empty. */
	char *text;
	char *from;	/* path of a file of the host */
	uint64_t data;	/* number of a data file; 0: none */
	uint64_t bytes; /* size of a regular file */
	struct rootfs_xattr *xattrs;
	size_t xattr_count;
	unsigned names;	 /* how many names the file has */
	bool counted;	 /* rootfs_count_file() has counted the file */
	uint64_t memory; /* bytes of memory that were counted for the file */
	uint32_t inode;	 /* its inode in the file system; 0: not written yet */
};
/* Returns a new file, with one name; all other members but the mode are zero. Returns NULL with an
 * error. */
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
/* Returns an empty tree, or NULL with an error. `data_dir` is the directory for the data files, in
 * which no other files may be; -1 if rootfs_open_data() is not called. The caller closes
 * `data_dir`. `time`: the time of directories that are made because a path needs them. */
struct rootfs *rootfs_new(int data_dir, int64_t time, const struct rootfs_bounds *bounds,
			  struct error *err);
void rootfs_free(struct rootfs *fs); /* NULL is fine */
void rootfs_cleanup(struct rootfs **fs);
#define auto_rootfs __attribute__((cleanup(rootfs_cleanup)))

/* Starts the next layer. All files that are added from now on belong to it. */
void rootfs_next_layer(struct rootfs *fs);

/* Returns how many bytes the layers of an image may unpack to, if the files of the image may have
 * `bytes` bytes. */
uint64_t rootfs_most_unpacked(uint64_t bytes);
/* Returns the bound on the unpacked bytes of all layers together. Bytes that are dropped or
 * replaced count too. */
struct tar_bound *rootfs_unpacked(struct rootfs *fs);
/* Returns the counter that tar_digest() of the next layer takes as `behind`. */
uint64_t *rootfs_bytes_behind(struct rootfs *fs);
/* Opens a new data file for `file`, for that many bytes, and returns its descriptor, which the
 * caller closes. ERR_INVALID if the contents would exceed their bound. */
int rootfs_open_data(struct rootfs *fs, struct rootfs_file *file, uint64_t bytes,
		     struct error *err);
/* Frees a file that got no name, and removes its data file. */
void rootfs_drop(struct rootfs *fs, struct rootfs_file *file);

/*
 * The functions below take paths as an archive has them: "./usr/bin/", "/usr/bin" and "usr/bin" are
 * the same. A path with ".." in it is ERR_INVALID.
 */
/* Puts `file` at `path`, in place of the file that had this path. If both are directories, the
 * contents of the directory stay. Makes missing directories of the path. Takes over `file`, also on
 * failure. */
int rootfs_put(struct rootfs *fs, const char *path, struct rootfs_file *file, struct error *err);
/* Adds another name for `target`, which must exist and not be a directory. */
int rootfs_link(struct rootfs *fs, const char *path, const char *target, struct error *err);
/* Makes a directory and all missing directories of the path. */
int rootfs_make_dir(struct rootfs *fs, const char *path, struct error *err);
/* Removes the file or directory that lower layers have at `path`, and all below it. It is no error
 * if they have nothing at `path`. */
int rootfs_hide(struct rootfs *fs, const char *path, struct error *err);
/* Removes all that lower layers have in the directory at `path`. It is no error if the lower layers
 * have no such directory. */
int rootfs_hide_below(struct rootfs *fs, const char *path, struct error *err);

/* Adds a directory, or a regular file whose contents are text, or a link whose target is text. Its
 * time is that of rootfs_new(). */
int rootfs_add(struct rootfs *fs, const char *path, mode_t mode, uid_t owner, const char *text,
	       struct error *err);
/* Adds a regular file that belongs to root and has the contents of the file `from` of the host. The
 * contents are read when the tree is written into a file system. */
int rootfs_add_copy(struct rootfs *fs, const char *path, mode_t mode, const char *from,
		    struct error *err);

/* Returns the file at `path`, or NULL if there is none. */
const struct rootfs_file *rootfs_find(struct rootfs *fs, const char *path);

/* Returns the size of the contents in bytes. Each file, also a directory, counts in whole blocks of
 * 4 KiB. */
uint64_t rootfs_bytes(const struct rootfs *fs);
uint64_t rootfs_count(const struct rootfs *fs); /* number of names; the root has no name */

#endif
