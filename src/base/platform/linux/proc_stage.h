/* SPDX-License-Identifier: MIT */
/*
 * Shows files of the host under new names to a program that accepts only names. The names are on a
 * stage: a small file system in a mount namespace of the program's own, over a directory that every
 * system has. Each name shows the file that a descriptor of this process stands for, even if that
 * file was renamed: it is compared with the descriptor after it was mounted.
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
	char *path; /* the present path of fd; NULL: a device node, made anew */
	dev_t node;
	uid_t owner;
	dev_t device;
	ino_t inode;
	bool directory, read_only;
	int userns_fd; /* the user namespace by whose map the owner is shown (an idmapped mount);
			* -1: unchanged */
};

struct proc_stage {
	struct proc_stage_item items[PROC_STAGE_MAX];
	size_t count;
	bool with_user; /* also in a new user namespace, in which this process keeps its user */
	char uid_map[32], gid_map[32];
};

/*
 * Adds fd, a file or directory, as the next item; the first one is PROC_STAGE/0. owner is the user
 * and group, in this process's user namespace, that the file's owner is shown as; 0: unchanged.
 */
int proc_stage_add(struct proc_stage *stage, int fd, bool read_only, uid_t owner,
		   struct error *err);
/* Adds a character device like the one at path, as a new node that only the owner can use. Only for
 * root. */
int proc_stage_add_device(struct proc_stage *stage, const char *path, uid_t owner,
			  struct error *err);
void proc_stage_free(struct proc_stage *stage);
/* Stores the name of item n. */
void proc_stage_name(size_t n, char out[PROC_STAGE_NAME]);

/* Called in the child, between fork() and exec(): async-signal-safe. -1 with errno; *item is the
 * item that failed, or count. ENOTSUP or EINVAL for an item with an owner: its file system cannot
 * show its files under another owner. */
int proc_stage_enter(const struct proc_stage *stage, size_t *item);

#endif
