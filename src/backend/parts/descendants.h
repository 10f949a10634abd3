/* SPDX-License-Identifier: MIT */
/*
 * The processes that a companion has started, by pidfd: killing a cell's monitor does not prove
 * that the program in the cell has ended.
 *
 * A killed process gives its memory back first, and closes its files after that. From then on it
 * runs no instruction and answers nobody, but closing may take long: who closes the last descriptor
 * of a removed file gives its blocks back, and a virtiofsd has one of each file that its guest
 * knows of.
 */
#ifndef BACKEND_PARTS_DESCENDANTS_H
#define BACKEND_PARTS_DESCENDANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/proc.h"

#define DESCENDANTS_MAX 256 /* of all companions of a VM */

struct descendants {
	int fds[DESCENDANTS_MAX];
	pid_t pids[DESCENDANTS_MAX];
	size_t count;
	pid_t spared[2]; /* these, and what descends from them, are none */
};

/* Adds all processes that descend from that one. A process that has ended has none. */
int descendants_add(struct descendants *all, const struct proc *from, struct error *err);
void descendants_kill(const struct descendants *all);
/* Each has ended, or has no memory any more. */
bool descendants_gone(const struct descendants *all);
void descendants_close(struct descendants *all);

#endif
