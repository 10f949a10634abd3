/* SPDX-License-Identifier: MIT */
/* A /proc in a cell, for as long as a name in it is needed. */
#ifndef BACKEND_PARTS_CELL_PROC_H
#define BACKEND_PARTS_CELL_PROC_H

#include "base/error.h"
#include "base/proc.h"

/* In a process that may do so: enters the user namespace in which that one (a descriptor) was made;
 * root has its rights there as it is. -1 and errno. */
int cell_enter_owner(int ns);
/* Takes /proc from the cell of that program, by a child. What the program has open of it stays.
 * ERR_NOT_FOUND: the program has ended. */
int cell_proc_remove(const struct proc *program, struct error *err);

#endif
