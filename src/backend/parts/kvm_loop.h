/* SPDX-License-Identifier: MIT */
/* Runs a VM of a few pages with a counted loop of 64-bit code, by raw ioctls on /dev/kvm. */
#ifndef BACKEND_PARTS_KVM_LOOP_H
#define BACKEND_PARTS_KVM_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define KVM_LOOP_ITERATIONS 1000000

/* A bit of the set KVM_UNTAKEN_*: the MSR IA32_ARCH_CAPABILITIES (0x10a) cannot be set to the value
 * that KVM itself gives for it. */
#define KVM_UNTAKEN_ARCH_CAPABILITIES 1u

struct kvm_loop_result {
	bool finished;	  /* a run came to its end */
	uint64_t best_ns; /* the shortest CPU time of the thread for a run */
	unsigned untaken; /* KVM_UNTAKEN_*: a VMM that wants a feature of this set fails */
};

/*
 * Runs the loop up to three times, each time for at most limit_ns of CPU time. ERR_IO: KVM has
 * failed; the message names the step.
 *
 * The function uses SIGPROF and ITIMER_PROF, so it needs its own process. KVM may hang, so that
 * process needs a deadline too.
 */
int kvm_loop_run(int kvm_fd, uint64_t limit_ns, struct kvm_loop_result *out, struct error *err);

#endif
