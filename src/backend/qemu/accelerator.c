/* SPDX-License-Identifier: MIT */
#include "backend/qemu/accelerator.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "backend/parts/host_facts.h"
#include "backend/parts/kvm_loop.h"
#include "backend/qemu/machine_row.h"
#include "backend/qemu/tsc.h"

int accelerator_tsc_khz(uint32_t *khz, struct error *err)
{
	struct host_facts host;

	host_facts_load(&host);
	if (!host.tsc_khz) {
		host.tsc_khz = tsc_measure_khz();
		host_facts_store(&host);
	}
	if (!host.tsc_khz)
		return error_set(
			err, ERR_UNSUPPORTED,
			"the frequency of this processor's time-stamp counter cannot be measured, and an emulated machine (TCG) needs it: only machines with KVM can run on this host");
	*khz = host.tsc_khz;
	return 0;
}

int accelerator_foreign(enum accelerator wanted, enum architecture machine, enum accelerator *out,
			char reason[256], struct error *err)
{
	if (wanted == ACCELERATOR_KVM) {
		error_set(
			err, ERR_UNSUPPORTED,
			"accelerator kvm: this host is %s, and KVM on it cannot run a machine of %s",
			architecture_name(architecture_of_host()), architecture_name(machine));
		return error_reason(err, REASON_NO_KVM, "");
	}
	if (wanted == ACCELERATOR_TCG)
		snprintf(reason, 256, "TCG was asked for");
	else
		snprintf(reason, 256, "this host is %s, and a machine of %s is emulated",
			 architecture_name(architecture_of_host()), architecture_name(machine));
	*out = ACCELERATOR_TCG;
	return 0;
}

const char *accelerator_cpu(enum architecture machine, enum accelerator accelerator)
{
	/* Only tests set this variable, to choose a processor. */
	const char *named = secure_getenv("MICROAGENT_TEST_CPU");
	struct kvm_facts facts;
	struct error ignored;

	if (named || accelerator != ACCELERATOR_KVM || machine != ARCHITECTURE_AMD64)
		return named;
	if (kvm_probe(NULL, &facts, &ignored) < 0 ||
	    !(facts.untaken & KVM_UNTAKEN_ARCH_CAPABILITIES))
		return NULL;
	return CPU_KVM_AMD64 ",-arch-capabilities";
}

int accelerator_choose(enum accelerator wanted, const struct kvm_facts *facts,
		       enum accelerator *out, char reason[256], struct error *err)
{
	bool usable = kvm_can_serve(facts, wanted);

	if (wanted == ACCELERATOR_KVM && !usable) {
		error_set(err, ERR_UNAVAILABLE, "accelerator kvm: %s", facts->reason);
		return error_reason(err, REASON_NO_KVM, "");
	}
	if (wanted == ACCELERATOR_TCG)
		snprintf(reason, 256, "TCG was asked for");
	else
		snprintf(reason, 256, "%s", facts->reason);
	*out = wanted == ACCELERATOR_TCG || !usable ? ACCELERATOR_TCG : ACCELERATOR_KVM;
	return 0;
}
