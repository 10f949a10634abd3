/* SPDX-License-Identifier: MIT */
/* Finds by trying whether KVM can be used here; the result is remembered per boot of the host. */
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
	char reason[256]; /* one sentence about kvm, with the next step if there is one */
	unsigned untaken; /* KVM_UNTAKEN_* of kvm_loop.h, if KVM runs 64-bit code */
};

/*
 * Fills *out for a machine that boots the kernel at the path (NULL: no kernel is known).
 *
 * The result of a loop of 64-bit code under KVM is remembered (host_facts.h) for this boot of the
 * host and this /dev/kvm, for any kernel. If nothing is remembered, a child process tries the loop,
 * for at most LIMIT_PROBE_MS. Then kvm_judge_kernel() judges the kernel. The call fails only if no
 * child can be started.
 */
int kvm_probe(const char *kernel, struct kvm_facts *out, struct error *err);

/*
 * Turns the verdict on the loop of 64-bit code into the verdict for a kernel, and sets
 * facts->kernels.
 *
 * A PVM (pvm: the module kvm_pvm is loaded) runs the kernel of a guest as a user's program of the
 * host. A kernel that is built for that (for_pvm) runs at speed, whatever the result of the loop,
 * if the loop began at all. Any other kernel is emulated, or does not boot although the loop is
 * fast. So its verdict is never KVM_USABLE.
 */
void kvm_judge_kernel(struct kvm_facts *facts, bool pvm, bool for_pvm);

/* Returns whether a machine can have KVM if the accelerator `wanted` is asked for. A user who asks
 * for KVM by name may have it with a kernel that is KVM_UNSUITED, since the user may know more
 * about the kernel than we do. */
bool kvm_can_serve(const struct kvm_facts *facts, enum accelerator wanted);

/* Returns the path of KVM: /dev/kvm. */
const char *kvm_device(void);

#endif
