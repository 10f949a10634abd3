/* SPDX-License-Identifier: MIT */
/* Handles /proc in a cell, which stays as long as a name in it is needed. */
#ifndef BACKEND_PARTS_CELL_PROC_H
#define BACKEND_PARTS_CELL_PROC_H

#include "base/error.h"
#include "base/proc.h"

/* Enters the user namespace in which the namespace ns (a descriptor) was made. The process must
 * have the right to do so. Root enters nothing: it has its rights there already. Returns -1 with
 * errno if it fails. */
int cell_enter_owner(int ns);
/* Removes /proc from the cell of the program, by a child process. Files in it that the program has
 * open stay open. ERR_NOT_FOUND: the program has ended. */
int cell_proc_remove(const struct proc *program, struct error *err);

#endif
