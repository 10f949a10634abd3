/* SPDX-License-Identifier: MIT */
/* Removes /proc from a cell, when the program in the cell no longer needs a name in /proc. */
#ifndef BACKEND_PARTS_CELL_PROC_H
#define BACKEND_PARTS_CELL_PROC_H

#include "base/error.h"
#include "base/proc.h"

/* Enters the user namespace that owns the namespace `ns`, which is a descriptor. This process must
 * have the right to enter it. If this process is root, the function does nothing, since root
 * already has all rights in that namespace. Returns 0, or -1 with errno. */
int cell_enter_owner(int ns);
/* Removes /proc from the cell of `program`. A child process does this. Files of /proc that the
 * program has open stay open. Fails with ERR_NOT_FOUND if the program has ended. */
int cell_proc_remove(const struct proc *program, struct error *err);

#endif
