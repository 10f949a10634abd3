/* SPDX-License-Identifier: MIT */
/*
 * The table that says what happens at each system call of a VMM. QEMU also has its own list
 * (-sandbox), of calls that QEMU never makes. This table has every call of the kernel:
 *
 *   killed   No VMM needs the call. So a process that makes it was taken over, and is ended.
 *   refused  The call gives ENOSYS, as on an older kernel, and C libraries and QEMU can go on. This
 *            includes every call without a row, and every future call.
 *   allowed  All other calls. The list is wide on purpose, and was made from the code of QEMU and
 * its libraries. A list of the calls that machines without KVM make would end machines with KVM. A
 * few calls are allowed for Firecracker, and refused for QEMU.
 *
 * Calls of other architectures (i386 and x32 on x86-64) end the process too.
 */
#ifndef BACKEND_PARTS_VMM_CALLS_H
#define BACKEND_PARTS_VMM_CALLS_H

#include <seccomp.h>
#include <stddef.h>

enum call_fate { CALL_KILLED, CALL_REFUSED, CALL_ALLOWED, CALL_ALLOWED_TO_FIRECRACKER };

struct vmm_call {
	int number; /* the number in libseccomp; below 0: this architecture has no such call */
	enum call_fate fate;
	const char *name;
	const char *reason;
	/* Conditions on the arguments of the call. A condition with op 0 ends the array. */
	struct scmp_arg_cmp only[2];
};

/* The rows, ordered by fate, and by name within each fate. */
extern const struct vmm_call vmm_calls[];
extern const size_t vmm_call_count;

#endif
