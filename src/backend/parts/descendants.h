/* SPDX-License-Identifier: MIT */
/*
 * The processes that a companion has started. The supervisor holds a pidfd of each, because the end
 * of a cell's monitor does not prove that the program in the cell has ended.
 *
 * A process that was killed first gives back its memory, and then closes its files. Once it has no
 * memory it runs no instruction and answers nothing, but to close the files may take long: the
 * process that closes the last descriptor of a removed file gives back the file's blocks, and a
 * virtiofsd has a descriptor of each file that its guest knows.
 */
#ifndef BACKEND_PARTS_DESCENDANTS_H
#define BACKEND_PARTS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

#define DESCENDANTS_MAX 256 /* the most processes of all companions of a VM */

struct descendants {
	int fds[DESCENDANTS_MAX];
	pid_t pids[DESCENDANTS_MAX];
	size_t count;
	pid_t spared[2]; /* processes that are never added, and neither are their descendants */
};

/* Adds all processes that descend from the process `from`. Adds nothing if `from` has ended. */
int descendants_add(struct descendants *all, const struct proc *from, struct error *err);
void descendants_kill(const struct descendants *all);
/* Returns whether each process has ended, or has no memory any more. */
bool descendants_gone(const struct descendants *all);
void descendants_close(struct descendants *all);

#endif
