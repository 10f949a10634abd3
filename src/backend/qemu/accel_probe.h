/* SPDX-License-Identifier: MIT */
/* Which accelerator QEMU can use here, found by trying and remembered per boot of the host. */
#ifndef BACKEND_QEMU_ACCEL_PROBE_H
#define BACKEND_QEMU_ACCEL_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "contract/request.h"

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

struct accel_facts {
	enum kvm_verdict kvm;
	char reason[256]; /* one sentence about kvm, with the next step where there is one */
	uint32_t tsc_khz; /* of this host's time-stamp counter; 0: not measured */
};

/*
 * Fills *out: the remembered facts where they are of this boot and of this /dev/kvm, else new ones
 * by a probe in a child process (LIMIT_PROBE_MS at most), which are then remembered
 * (host_facts.h). Fails only when no child can be had.
 */
int accel_probe(struct accel_facts *out, struct error *err);
/* The time-stamp counter alone, as TCG needs it: no VM is tried. */
int accel_tsc_khz(uint32_t *khz, struct error *err);

/* Where KVM is: /dev/kvm. */
const char *accel_kvm_device(void);

/* wanted resolved by what the facts say; auto never fails, kvm does (ERR_UNAVAILABLE). */
int accel_choose(enum accelerator wanted, const struct accel_facts *facts, enum accelerator *out,
		 char reason[256], struct error *err);

#endif
