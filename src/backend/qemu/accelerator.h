/* SPDX-License-Identifier: MIT */
/* Which accelerator QEMU is to use, and what TCG has to be told of this host. */
#ifndef BACKEND_QEMU_ACCELERATOR_H
#define BACKEND_QEMU_ACCELERATOR_H

#include <stdint.h>

#include "backend/parts/kvm_probe.h"
#include "base/error.h"
#include "contract/request.h"

/* Resolves wanted by the facts. ACCELERATOR_AUTO never fails. ACCELERATOR_KVM is ERR_UNAVAILABLE
 * where kvm_can_serve() says no. */
int accelerator_choose(enum accelerator wanted, const struct kvm_facts *facts,
		       enum accelerator *out, char reason[256], struct error *err);
/* The same for a machine of another architecture than the host's, which can only be emulated. */
int accelerator_foreign(enum accelerator wanted, enum architecture machine, enum accelerator *out,
			char reason[256], struct error *err);
/* The processor that QEMU's -cpu names where it is not what belongs to the accelerator (machine_row.c);
 * NULL: it is. */
const char *accelerator_cpu(enum architecture machine, enum accelerator accelerator);
/* The frequency of the time-stamp counter, which TCG needs for a guest of amd64; measured once per
 * boot of the host. */
int accelerator_tsc_khz(uint32_t *khz, struct error *err);

#endif
