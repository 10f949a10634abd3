/* SPDX-License-Identifier: MIT */
/*
 * A file, or a directory with all that is in it, as a stream of bytes between host and guest. Either
 * side may be hostile: who receives takes nothing on trust but that a stream is what it is.
 *
 *   entry   type (1 byte), mode (4), mtime in seconds (8), length of path (4), length of text (4),
 *           path, text; numbers are big-endian. The root's path is "", the others' are relative to it.
 *   'f'     a regular file; chunks follow, each a length (4) and so many bytes, until a length of 0;
 *           a length of 2^32-1 breaks off, and an 'e' follows
 *   'd'     a directory; its entries follow
 *   'l'     a symbolic link to text
 *   's'     something that is left out, and why (text): a device, another file system...
 *   'e'     the sender's failure (text); the last entry
 *   'z'     the end
 */
#ifndef BASE_TREE_STREAM_H
#define BASE_TREE_STREAM_H

#include <stdbool.h>

#include "base/error.h"

/* Sends what path (below root_fd, or as openat() takes it with AT_FDCWD) names. confined: the path is
 * resolved as if root_fd were "/", so that no link leads out of it. Links below it are sent as links;
 * other file systems below it are left out. A failure is also told to the receiver. */
int tree_send(int root_fd, const char *path, bool confined, int to, struct error *err);

/* Where something is to be received: name does not exist in dir, or is a file to be replaced. */
struct tree_target {
	int dir;
	char name[256];
};
/*
 * path names a directory, in which name_within is to be, or something in a directory that exists.
 * What is there under that name must be nothing or a regular file: a link is not written through.
 */
int tree_target_open(int root_fd, const char *path, bool confined, const char *name_within,
		     struct tree_target *out, struct error *err);
void tree_target_close(struct tree_target *target);

struct tree_receiver {
	/* An entry was left out. May be NULL. */
	void (*skipped)(void *data, const char *path, const char *why);
	void *data;
	/* Links whose target does not stay in the tree are left out. */
	bool links_stay_inside;
};
/*
 * Receives until the stream's end and puts it at the target: a file is complete or not there; a
 * directory must not be there yet. Owners are whoever we are; of the mode the permissions alone are
 * taken. What a failure leaves behind is removed.
 */
int tree_receive(int from, const struct tree_target *target, const struct tree_receiver *receiver,
		 struct error *err);

#endif
