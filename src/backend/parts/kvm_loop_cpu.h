/* SPDX-License-Identifier: MIT */
/* The processor's part of the loop (kvm_loop.h), whose calls and registers are each architecture's
 * own. */
#ifndef BACKEND_PARTS_KVM_LOOP_CPU_H
#define BACKEND_PARTS_KVM_LOOP_CPU_H

#include <linux/kvm.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define KVM_LOOP_MARK UINT64_C(0x6d6963726f616765) /* what the loop leaves behind */

struct kvm_loop_cpu {
	size_t bytes; /* of the guest's memory, at 0 */
	void (*fill)(uint8_t *memory);
	void (*prepare)(int vm); /* before there is a processor */
	/* A new processor into 64-bit mode. */
	int (*enter)(int kvm, int vm, int vcpu, struct error *err);
	/* What of the processor's features KVM offers and then does not take, of an entered one. */
	unsigned (*untaken)(int kvm, int vcpu);	   /* KVM_UNTAKEN_* */
	int (*begin)(int vcpu, struct error *err); /* before each run: where it begins */
	/* After each: that it came to its end with the right result. */
	int (*check)(int vcpu, const struct kvm_run *run, struct error *err);
};
extern const struct kvm_loop_cpu kvm_loop_cpu; /* of this host */

#endif
