/* SPDX-License-Identifier: MIT */
/* Finds what a VMM holds that leads out of its machine. */
#ifndef BACKEND_PARTS_VM_HELD_H
#define BACKEND_PARTS_VM_HELD_H

#include "backend/parts/vm.h"

/* Stops the VMM and the processes that it has started, which are in below. Until vm_thaw() they
 * make, take and move nothing. ERR_TIMEOUT: they have not stopped within LIMIT_SEVER_STOP_MS, and
 * go on. ERR_NOT_FOUND: the VMM has ended. */
int vm_freeze(const struct vm *vm, struct descendants *below, struct error *err);
void vm_thaw(const struct vm *vm, struct descendants *below);

/* Looks for what a VMM that is being severed still holds, and cuts it. Returns 0 if nothing is
 * left, 1 if something is left (err says what); -1 with an error if it cannot be known. */
int vm_held(const struct vm *vm, struct error *err);

#endif
