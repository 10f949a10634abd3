/* SPDX-License-Identifier: MIT */
/* A VM of a few pages that runs a counted loop of 64-bit code, by raw ioctls on /dev/kvm. */
#ifndef BACKEND_PARTS_KVM_LOOP_H
#define BACKEND_PARTS_KVM_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define KVM_LOOP_ITERATIONS 1000000

/*
 * Runs the loop up to three times, each for at most limit_ns of CPU time, and stores the shortest
 * thread CPU time; *finished is false when not one run came to its end. ERR_IO: KVM failed; the
 * message names the step.
 *
 * Takes SIGPROF and ITIMER_PROF: for a process of its own. KVM may hang, so that process needs a
 * deadline too.
 */
int kvm_loop_run(int kvm_fd, uint64_t limit_ns, bool *finished, uint64_t *best_ns,
		 struct error *err);

#endif
