/* SPDX-License-Identifier: MIT */
/* Finds the descriptors of a VMM that lead out of its machine. */
#ifndef BACKEND_PARTS_VM_HELD_H
#define BACKEND_PARTS_VM_HELD_H

#include "backend/parts/vm.h"

/* Stops the VMM and the processes that it has started, and adds these processes to `below`. Until
 * vm_thaw() they cannot open, receive or pass on a descriptor. Fails with ERR_TIMEOUT if they have
 * not stopped within LIMIT_SEVER_STOP_MS; they then go on. Fails with ERR_NOT_FOUND if the VMM has
 * ended. */
int vm_freeze(const struct vm *vm, struct descendants *below, struct error *err);
void vm_thaw(const struct vm *vm, struct descendants *below);

/* Looks for descriptors that lead out of the machine, in a VMM that is being severed, and cuts
 * their connections. Returns 0 if there is no such descriptor any more. Returns 1, with the reason
 * in `err`, if there may still be such a descriptor. Returns -1 with an error if the VMM cannot be
 * examined. */
int vm_held(const struct vm *vm, struct error *err);

#endif
