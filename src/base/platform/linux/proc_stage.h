/* SPDX-License-Identifier: MIT */
/*
 * Files of the host at names that a program which takes only names can be given: on a stage, a
 * small file system in a mount namespace of the program's own, over a directory that every system
 * has. What lies there is what a descriptor of ours is, whatever its name has become: each is
 * compared with it once it is mounted.
 */
#ifndef BASE_PROC_STAGE_H
#define BASE_PROC_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define PROC_STAGE "/sys"
#define PROC_STAGE_MAX 32
#define PROC_STAGE_NAME 16 /* "/sys/31" */

struct proc_stage_item {
	char *path; /* of fd as it is now; NULL: a device node, made anew */
	dev_t node;
	uid_t owner;
	dev_t device;
	ino_t inode;
	bool directory, read_only;
	int userns_fd; /* whose map the owner is shown by (an idmapped mount); -1: as it is */
};

struct proc_stage {
	struct proc_stage_item items[PROC_STAGE_MAX];
	size_t count;
	bool with_user; /* in a user namespace as well, in which we are who we were */
	char uid_map[32], gid_map[32];
};

/*
 * fd, a file or directory, becomes the next item, in order: the first is PROC_STAGE/0. owner: the
 * user and group, of our own user namespace, by whom the owner of the file is to be shown; 0: as he
 * is.
 */
int proc_stage_add(struct proc_stage *stage, int fd, bool read_only, uid_t owner,
		   struct error *err);
/* A character device as the one of that name, as a node that is the owner's alone. For root. */
int proc_stage_add_device(struct proc_stage *stage, const char *path, uid_t owner,
			  struct error *err);
void proc_stage_free(struct proc_stage *stage);
/* The name of item n. */
void proc_stage_name(size_t n, char out[PROC_STAGE_NAME]);

/* In the child, between fork() and exec(): async-signal-safe. -1 and errno; *item: at which, or
 * count. ENOTSUP or EINVAL of an item with an owner: its file system shows files to no other. */
int proc_stage_enter(const struct proc_stage *stage, size_t *item);

#endif
