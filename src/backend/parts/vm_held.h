/* SPDX-License-Identifier: MIT */
/* What a VMM holds that leads out of its machine. */
#ifndef BACKEND_PARTS_VM_HELD_H
#define BACKEND_PARTS_VM_HELD_H

#include "backend/parts/vm.h"

/* Stops the VMM and what it has started, which is below: it makes, takes and moves nothing until
 * vm_thaw(). ERR_TIMEOUT: it has not stood still within LIMIT_SEVER_STOP_MS, and goes on.
 * ERR_NOT_FOUND: the VMM has ended. */
int vm_freeze(const struct vm *vm, struct descendants *below, struct error *err);
void vm_thaw(const struct vm *vm, struct descendants *below);

/* Cuts what it finds, of a VMM that is severing. 0: nothing is left; 1: something is, and err says
 * what; -1: it cannot be known. */
int vm_held(const struct vm *vm, struct error *err);

#endif
