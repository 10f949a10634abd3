/* SPDX-License-Identifier: MIT */
/*
 * The processes that a companion has started. The supervisor holds a pidfd of each. The end of a
 * cell's monitor is not enough, since it does not prove that the program in the cell has ended.
 *
 * A process that was killed first gives back its memory, and then closes its files. A process
 * without memory runs no instruction and answers nothing. But it may take long to close its files:
 * a virtiofsd has a descriptor of each file that its guest knows, and when a process closes the last
 * descriptor of a removed file, the kernel frees the file's blocks before close() returns.
 */
#ifndef BACKEND_PARTS_DESCENDANTS_H
#define BACKEND_PARTS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

#define DESCENDANTS_MAX 256 /* the most processes that all companions of one VM may have started */

struct descendants {
	int fds[DESCENDANTS_MAX];
	pid_t pids[DESCENDANTS_MAX];
	size_t count;
	/* The pids of processes that are never added; their descendants are not added either. */
	pid_t spared[2];
};

/* Adds all processes that descend from the process `from`. Adds nothing if `from` has ended. */
int descendants_add(struct descendants *all, const struct proc *from, struct error *err);
void descendants_kill(const struct descendants *all);
/* Returns true if each of the processes has ended, or has no memory any more. */
bool descendants_gone(const struct descendants *all);
void descendants_close(struct descendants *all);

#endif
