/* SPDX-License-Identifier: MIT */
/*
 * A rootfs: the contents of an image, which are put together file by file, or layer by layer. The
 * contents are a tree in memory. Only the bytes of regular files are on disk, each in a separate
 * numbered file. No name or link of the tree is ever followed on the host. A link to a directory is
 * resolved in the tree, and cannot lead out of it. ext4_make() writes the tree into a file system.
 * So the files of an image can have any owner, although no file on the host changes its owner.
 */
#ifndef ARTIFACT_ROOTFS_H
#define ARTIFACT_ROOTFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/* The greatest length of a path in bytes. This length is less than PATH_MAX, so every program
 * accepts such a path. */
#define ROOTFS_PATH_MAX 4000

/* An extended attribute, such as "security.capability". */
struct rootfs_xattr {
	char *name;
	void *value;
	size_t len;
};

/* A file of the tree. All hard links to a file share one struct. */
struct rootfs_file {
	mode_t mode; /* permissions and type of the file; the type is S_IFDIR, S_IFREG, S_IFLNK or
		      * S_IFIFO */
	uid_t uid;
	gid_t gid;
	int64_t time;  /* time of the last modification, in seconds since 1970 */
	uint32_t nsec; /* nanoseconds of the last modification beyond `time` */
	/* The target of a link (S_IFLNK), or the contents of a regular file (S_IFREG). The contents
	 * of a regular file are given by `text`, `from` or `data`. If none of these three members
	 * is set, the file is empty. */
	char *text;
	char *from;	/* path of a file of the host with the contents; NULL: none */
	uint64_t data;	/* number of the data file with the contents, or the number under which the
			 * source of the rootfs knows the contents; 0: none */
	uint64_t bytes; /* size of a regular file in bytes */
	struct rootfs_xattr *xattrs;
	size_t xattr_count;
	unsigned names;	 /* number of names that the file has */
	bool counted;	 /* rootfs_count_file() has counted the file already */
	uint64_t memory; /* number of bytes of memory that were counted for the file */
	uint32_t inode;	 /* number of the file's inode in the file system; 0: not written yet */
};
/* Returns a new file with one name. All members except the mode and the number of names are zero.
 * Returns NULL with err set on failure. */
struct rootfs_file *rootfs_file_new(mode_t mode, struct error *err);

/* Bounds on the size of the contents. */
struct rootfs_bounds {
	uint64_t bytes; /* largest number of bytes of all files, counted in whole blocks */
	uint64_t count; /* largest number of files */
	uint64_t text;	/* largest number of bytes of paths, targets of links and attributes, which
			 * are kept in memory */
	bool straight;	/* a path that leads through a link is refused */
};
extern const struct rootfs_bounds rootfs_unbounded;

/*
 * A source gives the contents of regular files while the tree is written into a file system. So the
 * contents need no data files. The functions return -1 with err set on failure.
 */
struct rootfs_source {
	/* Opens the contents that file->data numbers, and sets file->bytes to their size. Returns a
	 * descriptor, which the caller closes. */
	int (*open)(void *data, struct rootfs_file *file, struct error *err);
	/* Reads the next `len` bytes of the contents. The source must fill the whole room. */
	int (*read)(void *data, int fd, void *bytes, size_t len, struct error *err);
	/* Is called when all contents of the file were read. */
	int (*end)(void *data, int fd, const struct rootfs_file *file, struct error *err);
	void *data; /* the first argument of the functions */
};

struct rootfs;
struct tar_bound;
/* Returns an empty tree, or NULL with err set. `data_dir` is a descriptor of the directory for the
 * data files, which must be empty. `data_dir` may be -1 if rootfs_open_data() will not be called.
 * The caller closes `data_dir`. `time` is the time, in seconds since 1970, of missing directories
 * that are made for a path. */
struct rootfs *rootfs_new(int data_dir, int64_t time, const struct rootfs_bounds *bounds,
			  struct error *err);
void rootfs_free(struct rootfs *fs); /* NULL is fine */
void rootfs_cleanup(struct rootfs **fs);
#define auto_rootfs __attribute__((cleanup(rootfs_cleanup)))

/* From now on, contents that rootfs_file.data numbers come from `source` and not from data files.
 * `source` must exist as long as the tree. */
void rootfs_set_source(struct rootfs *fs, const struct rootfs_source *source);

/* Starts the next layer. Files that are added from now on belong to this layer. */
void rootfs_next_layer(struct rootfs *fs);

/* Returns the largest number of bytes to which the layers of an image may unpack together. `bytes`
 * is the largest number of bytes that the files of the image may have. */
uint64_t rootfs_most_unpacked(uint64_t bytes);
/* Returns the bound on the unpacked bytes of all layers together. Bytes of files that are left out
 * or replaced count too. The bound is valid as long as the tree. */
struct tar_bound *rootfs_unpacked(struct rootfs *fs);
/* Returns the counter that is the argument `behind` of tar_digest() for the next layer. The counter
 * is valid as long as the tree. */
uint64_t *rootfs_bytes_behind(struct rootfs *fs);
/* Opens a new data file with `bytes` bytes for `file`. Returns its descriptor, which the caller
 * closes. ERR_INVALID: all contents together would be more than their bound. */
int rootfs_open_data(struct rootfs *fs, struct rootfs_file *file, uint64_t bytes,
		     struct error *err);
/* Frees a file that no path of the tree names, and removes its data file. */
void rootfs_drop(struct rootfs *fs, struct rootfs_file *file);

/*
 * The functions below accept paths in the spelling of an archive: "./usr/bin/", "/usr/bin" and
 * "usr/bin" mean the same path. ERR_INVALID: a path contains "..".
 */
/* Puts `file` at `path`, and replaces a file that has this path. If the new and the old file are
 * directories, the contents of the old directory stay. Makes missing directories of the path.
 * Afterwards `file` belongs to the tree; on failure `file` is freed. */
int rootfs_put(struct rootfs *fs, const char *path, struct rootfs_file *file, struct error *err);
/* Adds another name for the file `target`, which must exist and must not be a directory. */
int rootfs_link(struct rootfs *fs, const char *path, const char *target, struct error *err);
/* Makes the directory `path` and all missing directories above it. */
int rootfs_make_dir(struct rootfs *fs, const char *path, struct error *err);
/* Removes the file or directory that lower layers have at `path`, with everything below it. It is
 * not an error if there is no such file. */
int rootfs_hide(struct rootfs *fs, const char *path, struct error *err);
/* Removes everything that lower layers have in the directory at `path`. It is not an error if there
 * is no such directory. */
int rootfs_hide_below(struct rootfs *fs, const char *path, struct error *err);

/* Adds a directory, a regular file with the contents `text`, or a link with the target `text`. The
 * time of the file is the time that rootfs_new() got. */
int rootfs_add(struct rootfs *fs, const char *path, mode_t mode, uid_t owner, const char *text,
	       struct error *err);
/* Adds a regular file that belongs to root. The contents of the file are copied from the file
 * `from` of the host when the tree is written into a file system. */
int rootfs_add_copy(struct rootfs *fs, const char *path, mode_t mode, const char *from,
		    struct error *err);

/* Returns the file at `path`, or NULL if no file is there. */
const struct rootfs_file *rootfs_find(struct rootfs *fs, const char *path);

/* Returns the size of the contents in bytes. The size of each file or directory is rounded up to
 * whole blocks of 4 KiB. */
uint64_t rootfs_bytes(const struct rootfs *fs);
uint64_t rootfs_count(const struct rootfs *fs); /* returns the number of names; the root has no
						 * name */

#endif
