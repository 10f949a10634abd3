/* SPDX-License-Identifier: MIT */
/*
 * A stage: files of the host under new paths, for a program that accepts only paths and no
 * descriptors. The stage is a small file system, which is mounted over a directory that every
 * system has, in a mount namespace that only the program has. Each path names exactly the file to
 * which a descriptor of this process refers, even if the file was renamed. To ensure this, each
 * mounted file is compared with its descriptor.
 */
#ifndef BASE_PROC_STAGE_H
#define BASE_PROC_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define PROC_STAGE "/sys"
#define PROC_STAGE_MAX 32
/* The size of the path of an item, like "/sys/31", with its NUL. */
#define PROC_STAGE_NAME 16

struct proc_stage_item {
	char *path; /* the path of the file when it was added; NULL: the item is a new device
		     * node */
	dev_t node;
	uid_t owner;
	dev_t device;
	ino_t inode;
	bool directory, read_only;
	int userns_fd; /* the user namespace whose map shows the file with another owner (an
		        * idmapped mount); -1: the owner is not changed */
};

struct proc_stage {
	struct proc_stage_item items[PROC_STAGE_MAX];
	size_t count;
	bool with_user; /* the child also enters a new user namespace, in which it keeps its user */
	char uid_map[32], gid_map[32];
};

/*
 * Adds the file or directory `fd` as the next item. The first item has the path PROC_STAGE/0. The
 * program sees the file as owned by the user and group with the number `owner` of this process's
 * user namespace; 0: the owner is not changed.
 */
int proc_stage_add(struct proc_stage *stage, int fd, bool read_only, uid_t owner,
		   struct error *err);
/* Adds a new node for the character device whose node is at `path`. Only the user `owner` can use
 * the new node. Only root can make such an item. */
int proc_stage_add_device(struct proc_stage *stage, const char *path, uid_t owner,
			  struct error *err);
void proc_stage_free(struct proc_stage *stage);
/* Writes the path of item n to `out`. */
void proc_stage_name(size_t n, char out[PROC_STAGE_NAME]);

/* Makes the stage, in the child between fork() and exec(): async-signal-safe. Returns -1 with errno
 * on failure. *item is then the number of the item that has failed, or the number of items if
 * another step has failed. ENOTSUP or EINVAL for an item with an owner: its file system does not
 * support idmapped mounts. */
int proc_stage_enter(const struct proc_stage *stage, size_t *item);

#endif
