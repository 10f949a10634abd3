/* SPDX-License-Identifier: MIT */
/* Chooses the accelerator for QEMU, and finds the facts about this host that QEMU needs for TCG. */
#ifndef BACKEND_QEMU_ACCELERATOR_H
#define BACKEND_QEMU_ACCELERATOR_H

#include <stdint.h>

#include "backend/parts/kvm_probe.h"
#include "base/error.h"
#include "contract/request.h"

/* Sets *out to the accelerator for `wanted`, according to the facts about KVM. Sets `reason` to a
 * text that explains the choice. Never fails for ACCELERATOR_AUTO. Fails with ERR_UNAVAILABLE if
 * ACCELERATOR_KVM is wanted and kvm_can_serve() returns false. */
int accelerator_choose(enum accelerator wanted, const struct kvm_facts *facts,
		       enum accelerator *out, char reason[256], struct error *err);
/* Works like accelerator_choose(), but for a machine of another architecture than the host's. Such
 * a machine can only be emulated. */
int accelerator_foreign(enum accelerator wanted, enum architecture machine, enum accelerator *out,
			char reason[256], struct error *err);
/* Returns the processor for QEMU's option -cpu. Returns NULL if the machine gets the usual
 * processor of the accelerator (machine_row.c). The caller must not free the result. */
const char *accelerator_cpu(enum architecture machine, enum accelerator accelerator);
/* Finds the frequency of the time-stamp counter in kHz. TCG needs this frequency for a guest of
 * amd64. The frequency is measured once in each boot of the host. */
int accelerator_tsc_khz(uint32_t *khz, struct error *err);

#endif
