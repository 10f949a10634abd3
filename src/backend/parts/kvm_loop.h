/* SPDX-License-Identifier: MIT */
/* Runs a VM of a few pages, which executes a counted loop of 64-bit code. Uses ioctls on /dev/kvm
 * directly. */
#ifndef BACKEND_PARTS_KVM_LOOP_H
#define BACKEND_PARTS_KVM_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define KVM_LOOP_ITERATIONS 1000000

/* One of the bits KVM_UNTAKEN_*. This bit means that the MSR IA32_ARCH_CAPABILITIES (0x10a) cannot
 * be set to the value that KVM itself returns for it. */
#define KVM_UNTAKEN_ARCH_CAPABILITIES 1u

struct kvm_loop_result {
	bool finished;	  /* at least one run has ended by itself */
	uint64_t best_ns; /* the shortest CPU time that a run has used, in ns */
	/* The KVM_UNTAKEN_* bits; a VMM that uses a feature of these bits fails. */
	unsigned untaken;
};

/*
 * Runs the loop up to three times, each time for at most limit_ns of CPU time. Fails with ERR_IO if
 * KVM has failed. The message names the step that failed.
 *
 * The function uses SIGPROF and ITIMER_PROF, so it needs its own process. KVM may hang, so that
 * process needs a deadline too.
 */
int kvm_loop_run(int kvm_fd, uint64_t limit_ns, struct kvm_loop_result *out, struct error *err);

#endif
