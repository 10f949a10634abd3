/* SPDX-License-Identifier: MIT */
/* Whether KVM can be used here, found by trying and remembered per boot of the host. */
#ifndef BACKEND_PARTS_KVM_PROBE_H
#define BACKEND_PARTS_KVM_PROBE_H

#include <stdbool.h>

#include "base/error.h"

enum kvm_verdict {
	KVM_UNKNOWN, /* not tried */
	KVM_USABLE,  /* runs 64-bit code at the processor's speed */
	KVM_MISSING, /* no /dev/kvm; never remembered */
	KVM_DENIED,  /* no rights to it; never remembered */
	KVM_SLOW,    /* opens, but runs 64-bit code by emulating it */
	KVM_BROKEN,  /* opens, and something in it fails */
	KVM_HUNG,    /* no answer within the deadline; never remembered: the host may be busy */
	KVM_VERDICT_COUNT
};

struct kvm_facts {
	enum kvm_verdict kvm;
	char reason[256]; /* one sentence about kvm, with the next step where there is one */
	unsigned untaken; /* KVM_UNTAKEN_* of kvm_loop.h, of one that runs 64-bit code */
};

/*
 * Fills *out: the remembered facts where they are of this boot and of this /dev/kvm, else new ones
 * by a probe in a child process (LIMIT_PROBE_MS at most), which are then remembered
 * (host_facts.h). Fails only when no child can be had.
 */
int kvm_probe(struct kvm_facts *out, struct error *err);

/* Where KVM is: /dev/kvm. */
const char *kvm_device(void);

#endif
