/* SPDX-License-Identifier: MIT */
/*
 * The processes that a companion has started, held by pidfd. Killing a cell's monitor does not
 * prove that the program in the cell has ended.
 *
 * A killed process first gives back its memory, and closes its files after that. From then on it
 * runs no instruction and answers nothing, but closing may take long. The process that closes the
 * last descriptor of a removed file gives back the file's blocks, and a virtiofsd has a descriptor
 * of each file that its guest knows.
 */
#ifndef BACKEND_PARTS_DESCENDANTS_H
#define BACKEND_PARTS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

#define DESCENDANTS_MAX 256 /* for all companions of a VM */

struct descendants {
	int fds[DESCENDANTS_MAX];
	pid_t pids[DESCENDANTS_MAX];
	size_t count;
	pid_t spared[2]; /* these and their descendants are left out */
};

/* Adds all processes that descend from the process `from`. A process that has ended has none. */
int descendants_add(struct descendants *all, const struct proc *from, struct error *err);
void descendants_kill(const struct descendants *all);
/* Returns whether each process has ended, or has no memory any more. */
bool descendants_gone(const struct descendants *all);
void descendants_close(struct descendants *all);

#endif
