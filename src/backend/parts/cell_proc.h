/* SPDX-License-Identifier: MIT */
/* Removes /proc from a cell when the program in the cell needs no name in /proc any more. */
#ifndef BACKEND_PARTS_CELL_PROC_H
#define BACKEND_PARTS_CELL_PROC_H

#include "base/error.h"
#include "base/proc.h"

/* Enters the user namespace that owns the namespace ns (a descriptor). This process must have the
 * right to enter it. Root enters nothing, since it has all rights in that namespace already.
 * Returns 0, or -1 with the cause in errno. */
int cell_enter_owner(int ns);
/* Removes /proc from the cell of the program, by a child process. Files of /proc that the program
 * has open stay open. ERR_NOT_FOUND: the program has ended. */
int cell_proc_remove(const struct proc *program, struct error *err);

#endif
