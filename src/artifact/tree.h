/* SPDX-License-Identifier: MIT */
/*
 * The contents of an image, put together by a user who may own nothing in it: the data are staged
 * in a directory of ours, while type, mode, owner and time of each path are kept in a list, from
 * which ext4_make() sets them in the finished file system.
 */
#ifndef ARTIFACT_TREE_H
#define ARTIFACT_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "artifact/digest.h"
#include "base/error.h"

#define TREE_PATH_MAX 4000 /* bytes, in the image: every tool takes such a path */

/* An extended attribute: "security.capability". */
struct tree_xattr {
	char *name;
	void *value;
	size_t len;
};
void tree_xattrs_free(struct tree_xattr *xattrs, size_t count);

struct tree_entry {
	char *path;  /* absolute, in the image */
	mode_t mode; /* with the type: S_IFDIR, S_IFREG or S_IFLNK; S_IFIFO only when staged */
	uid_t uid;
	gid_t gid;
	int64_t time; /* of modification, in seconds */
	char *data;   /* S_IFREG: contents, NULL when from is set; S_IFLNK: the target */
	char *from;   /* S_IFREG: the file of the host to be copied */
	bool staged;  /* already in the staging directory */
	struct tree_xattr *xattrs;
	size_t xattr_count;
};

struct tree {
	struct tree_entry *entries;
	size_t count, room;
	int64_t time;	    /* for entries that name none */
	uint64_t bytes;	    /* of the files that were unpacked, each in whole blocks */
	uint64_t bytes_max; /* 0: any number */
	uint64_t count_max; /* entries; 0: any number */
};
void tree_free(struct tree *tree);
#define auto_tree __attribute__((cleanup(tree_free)))

/* Parents are added before what is in them. Texts are copied. */
int tree_dir(struct tree *tree, const char *path, mode_t mode, uid_t owner, struct error *err);
int tree_text(struct tree *tree, const char *path, mode_t mode, const char *text,
	      struct error *err);
int tree_copy(struct tree *tree, const char *path, mode_t mode, const char *from,
	      struct error *err);
int tree_link(struct tree *tree, const char *path, const char *target, struct error *err);

/* Of everything that the image will hold: two trees of one digest give the same image. */
int tree_digest(const struct tree *tree, char out[DIGEST_TEXT], struct error *err);
/* Writes the entries into an empty directory. */
int tree_stage(const struct tree *tree, const char *dir, struct error *err);
/* Unpacks a tar archive into an empty directory and lists it. Device nodes are left out: the guest
 * mounts devtmpfs. */
int tree_untar(struct tree *tree, const char *archive, const char *dir, struct error *err);

#endif
