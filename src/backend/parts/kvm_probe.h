/* SPDX-License-Identifier: MIT */
/* Finds by a trial whether KVM can be used on this host. The result is remembered until the host
 * boots again. */
#ifndef BACKEND_PARTS_KVM_PROBE_H
#define BACKEND_PARTS_KVM_PROBE_H

#include <stdbool.h>

#include "base/error.h"
#include "contract/request.h"

enum kvm_verdict {
	KVM_UNKNOWN, /* KVM was not tried */
	KVM_USABLE,  /* KVM runs the kernel at the speed of the processor */
	KVM_MISSING, /* there is no /dev/kvm; never remembered */
	KVM_DENIED,  /* this process has no right to open /dev/kvm; never remembered */
	KVM_SLOW,    /* KVM runs 64-bit code, but only by emulation */
	/* KVM is a PVM, which runs 64-bit code fast, but the kernel is not known to be built for a
	 * PVM. This verdict depends on the kernel, so it is never remembered. */
	KVM_UNSUITED,
	KVM_BROKEN, /* /dev/kvm can be opened, but a call of KVM fails */
	KVM_HUNG,   /* KVM gave no answer in time; never remembered, since the host may be busy */
	KVM_VERDICT_COUNT
};

/* The kernels with which KVM is usable on this host. */
enum kvm_kernels { KVM_KERNELS_NONE, KVM_KERNELS_ALL, KVM_KERNELS_PVM, KVM_KERNELS_COUNT };
/* The names "none", "all" and "pvm". */
extern const char *const kvm_kernels_names[KVM_KERNELS_COUNT];

struct kvm_facts {
	enum kvm_verdict kvm;
	enum kvm_kernels kernels;
	/* One sentence that explains the verdict. If the user can change the verdict, the sentence
	 * says what to do. */
	char reason[256];
	unsigned untaken; /* the KVM_UNTAKEN_* bits (kvm_loop.h), if KVM runs 64-bit code */
};

/*
 * Sets *out for a machine that boots the kernel at the path `kernel`. NULL: the kernel is not
 * known.
 *
 * The trial is a loop of 64-bit code under KVM. The trial runs in a child process, for at most
 * LIMIT_PROBE_MS. The result of the trial does not depend on the kernel. The result is remembered
 * (host_facts.h) for this boot of the host and this /dev/kvm. If no result is remembered, the trial
 * is made. After that, kvm_judge_kernel() judges the kernel. The function fails only if no child
 * can be started.
 */
int kvm_probe(const char *kernel, struct kvm_facts *out, struct error *err);

/*
 * Turns the verdict about the loop of 64-bit code into the verdict for a kernel. Also sets
 * facts->kernels.
 *
 * `pvm` is true if the module kvm_pvm is loaded. A PVM runs the kernel of a guest as an ordinary
 * program of the host. `for_pvm` is true if the kernel is built for a PVM. Such a kernel runs fast
 * if the loop has begun at all, whatever the result of the loop was. Any other kernel is emulated,
 * or does not boot although the loop is fast. So the verdict for any other kernel is never
 * KVM_USABLE.
 */
void kvm_judge_kernel(struct kvm_facts *facts, bool pvm, bool for_pvm);

/* Returns true if a machine gets KVM when the accelerator `wanted` is asked for. If the user asks
 * for KVM by name, even a machine with a KVM_UNSUITED kernel gets KVM. The user may know that the
 * kernel is built for a PVM. */
bool kvm_can_serve(const struct kvm_facts *facts, enum accelerator wanted);

/* Returns the path of KVM's device, which is /dev/kvm except in tests. */
const char *kvm_device(void);

#endif
