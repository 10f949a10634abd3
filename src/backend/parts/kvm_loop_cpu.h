/* SPDX-License-Identifier: MIT */
/* The part of the loop (kvm_loop.h) that depends on the processor. Each architecture has its own
 * implementation, with its own calls of KVM and its own registers. */
#ifndef BACKEND_PARTS_KVM_LOOP_CPU_H
#define BACKEND_PARTS_KVM_LOOP_CPU_H

#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KVM_LOOP_MARK UINT64_C(0x6d6963726f616765) /* the value that the loop ends with */

struct kvm_loop_cpu {
	size_t bytes; /* the size of the guest's memory, which begins at address 0 */
	void (*fill)(uint8_t *memory);
	void (*prepare)(int vm); /* called before the processor is made */
	/* Puts a new processor into 64-bit mode. */
	int (*enter)(int kvm, int vm, int vcpu, struct error *err);
	/* Returns the KVM_UNTAKEN_* of a processor for which enter() was called: the features that
	 * KVM offers and then does not accept. */
	unsigned (*untaken)(int kvm, int vcpu);
	int (*begin)(int vcpu, struct error *err); /* sets the registers before each run */
	/* Checks after each run that the loop has ended with the right result. */
	int (*check)(int vcpu, const struct kvm_run *run, struct error *err);
};
extern const struct kvm_loop_cpu kvm_loop_cpu; /* the implementation for this host's architecture */

#endif
