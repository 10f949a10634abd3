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
/* Counts what the stopped processes have run until now. A VMM that was taken over may wake itself by a
 * timer, so a look is worth something only where the counts before and behind it are equal.
 * ERR_TIMEOUT: one of them runs. */
int vm_count_switches(const struct vm *vm, const struct descendants *below, uint64_t *out,
		      struct error *err);

/* Cuts what it finds, of a VMM that is severing. 0: nothing is left; 1: something is, and err says
 * what; -1: it cannot be known. */
int vm_held(const struct vm *vm, struct error *err);

#endif
