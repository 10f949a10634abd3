/* SPDX-License-Identifier: MIT */
/* The part of the loop (kvm_loop.h) that depends on the processor. Each architecture has its own
 * implementation, with its own calls of KVM and its own registers. */
#ifndef BACKEND_PARTS_KVM_LOOP_CPU_H
#define BACKEND_PARTS_KVM_LOOP_CPU_H

#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* The value that the loop leaves in a register at its end. */
#define KVM_LOOP_MARK UINT64_C(0x6d6963726f616765)

struct kvm_loop_cpu {
	size_t bytes; /* the size of the guest's memory in bytes; the memory begins at address 0 */
	void (*fill)(uint8_t *memory);
	void (*prepare)(int vm); /* called before the virtual processor is made */
	/* Puts a new processor into 64-bit mode. */
	int (*enter)(int kvm, int vm, int vcpu, struct error *err);
	/* Returns the KVM_UNTAKEN_* bits of a processor for which enter() was called. Each bit
	 * stands for a feature that KVM offers and then does not accept. */
	unsigned (*untaken)(int kvm, int vcpu);
	int (*begin)(int vcpu, struct error *err); /* sets the registers; called before each run */
	/* Checks that the loop has ended with the right result. Called after each run. */
	int (*check)(int vcpu, const struct kvm_run *run, struct error *err);
};
extern const struct kvm_loop_cpu kvm_loop_cpu; /* the implementation for this host's architecture */

#endif
