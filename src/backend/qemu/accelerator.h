/* SPDX-License-Identifier: MIT */
/* Chooses the accelerator for QEMU, and finds what TCG must be told about this host. */
#ifndef BACKEND_QEMU_ACCELERATOR_H
#define BACKEND_QEMU_ACCELERATOR_H

#include <stdint.h>

#include "backend/parts/kvm_probe.h"
#include "base/error.h"
#include "contract/request.h"

/* Sets *out to the accelerator for `wanted`, by the facts about KVM, and `reason` to a text that
 * explains the choice. Never fails for ACCELERATOR_AUTO. ERR_UNAVAILABLE: ACCELERATOR_KVM is
 * wanted, and kvm_can_serve() says no. */
int accelerator_choose(enum accelerator wanted, const struct kvm_facts *facts,
		       enum accelerator *out, char reason[256], struct error *err);
/* Works like accelerator_choose(), for a machine of another architecture than the host's. Such a
 * machine can only be emulated. */
int accelerator_foreign(enum accelerator wanted, enum architecture machine, enum accelerator *out,
			char reason[256], struct error *err);
/* Returns the processor for QEMU's -cpu if it is not the usual one of the accelerator
 * (machine_row.c); NULL: it is the usual one. */
const char *accelerator_cpu(enum architecture machine, enum accelerator accelerator);
/* Finds the frequency of the time-stamp counter, which TCG needs for a guest of amd64. It is
 * measured once per boot of the host. */
int accelerator_tsc_khz(uint32_t *khz, struct error *err);

#endif
