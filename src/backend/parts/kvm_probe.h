/* SPDX-License-Identifier: MIT */
/* Whether KVM can be used here, found by trying and remembered per boot of the host. */
#ifndef BACKEND_PARTS_KVM_PROBE_H
#define BACKEND_PARTS_KVM_PROBE_H

#include <stdbool.h>

#include "base/error.h"
#include "contract/request.h"

enum kvm_verdict {
	KVM_UNKNOWN,  /* not tried */
	KVM_USABLE,   /* runs the kernel at the processor's speed */
	KVM_MISSING,  /* no /dev/kvm; never remembered */
	KVM_DENIED,   /* no rights to it; never remembered */
	KVM_SLOW,     /* opens, but runs 64-bit code by emulating it */
	KVM_UNSUITED, /* a PVM that runs 64-bit code at speed, and the kernel is not known to be
		       * built for a PVM; never remembered: it is about the kernel */
	KVM_BROKEN,   /* opens, and something in it fails */
	KVM_HUNG,     /* no answer within the deadline; never remembered: the host may be busy */
	KVM_VERDICT_COUNT
};

/* The kernels with which KVM is usable on this host. */
enum kvm_kernels { KVM_KERNELS_NONE, KVM_KERNELS_ALL, KVM_KERNELS_PVM, KVM_KERNELS_COUNT };
extern const char *const kvm_kernels_names[KVM_KERNELS_COUNT]; /* "none", "all", "pvm" */

struct kvm_facts {
	enum kvm_verdict kvm;
	enum kvm_kernels kernels;
	char reason[256]; /* one sentence about kvm, with the next step where there is one */
	unsigned untaken; /* KVM_UNTAKEN_* of kvm_loop.h, of one that runs 64-bit code */
};

/*
 * Fills *out for a machine that boots the kernel at the path (NULL: no kernel is known).
 *
 * What a loop of 64-bit code did under KVM is remembered (host_facts.h) for this boot of the host
 * and this /dev/kvm, whatever the kernel is. Where nothing is remembered a child process tries the
 * loop, for LIMIT_PROBE_MS at most. kvm_judge_kernel() then judges the kernel.
 * The call fails only when no child can be had.
 */
int kvm_probe(const char *kernel, struct kvm_facts *out, struct error *err);

/*
 * Turns the verdict on the loop of 64-bit code into that for a kernel, and sets facts->kernels.
 *
 * A PVM (pvm: the module kvm_pvm is loaded) runs the kernel of a guest as a user's program of the
 * host. A kernel that is built for that (for_pvm) runs at speed whatever became of the loop, if the
 * loop began at all. Any other kernel is emulated, or does not boot though the loop is fast: so its
 * verdict is never KVM_USABLE.
 */
void kvm_judge_kernel(struct kvm_facts *facts, bool pvm, bool for_pvm);

/* Whether a machine for which the accelerator is wanted can have KVM. A user who asks for KVM by
 * name may have it with a kernel that is KVM_UNSUITED: what is not known of the kernel, the user
 * may know. */
bool kvm_can_serve(const struct kvm_facts *facts, enum accelerator wanted);

/* Where KVM is: /dev/kvm. */
const char *kvm_device(void);

#endif
