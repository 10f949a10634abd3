/* SPDX-License-Identifier: MIT */
/*
 * The table that says what happens at each system call of a VMM. QEMU also has a list of its own
 * (-sandbox), which forbids what its authors know that QEMU never does. This table has every call
 * of the kernel:
 *
 *   killed   No VMM needs the call, so a process that makes it is no VMM any more. It is ended.
 *   refused  The answer is ENOSYS, as from an older kernel: C libraries and QEMU can go on. This
 *            includes every call without a row, and every future call.
 *   allowed  All other calls. This is wide on purpose. It was read from what QEMU and its libraries
 *            can do. A list of the calls seen on machines without KVM would end machines with KVM.
 *            A few calls are allowed to Firecracker, and refused to QEMU.
 *
 * Calls of other architectures (i386 and x32 on x86-64) end the process too.
 */
#ifndef BACKEND_PARTS_VMM_CALLS_H
#define BACKEND_PARTS_VMM_CALLS_H

#include <seccomp.h>
#include <stddef.h>

enum call_fate { CALL_KILLED, CALL_REFUSED, CALL_ALLOWED, CALL_ALLOWED_TO_FIRECRACKER };

struct vmm_call {
	int number; /* libseccomp's; below 0: this architecture has no such call */
	enum call_fate fate;
	const char *name;
	const char *reason;
	/* Conditions on the arguments of the call, up to the first one with op 0. */
	struct scmp_arg_cmp only[2];
};

/* The rows, ordered by fate, and by name within each fate. */
extern const struct vmm_call vmm_calls[];
extern const size_t vmm_call_count;

#endif
