/* SPDX-License-Identifier: MIT */
/*
 * The table of what happens at each system call of a VMM. QEMU also has its own list (-sandbox), of
 * calls that QEMU never makes. This table decides about every call of the kernel:
 *
 *   killed   No VMM needs the call. So a process that makes the call was taken over, and is ended.
 *   refused  The call fails with ENOSYS, as on an older kernel, and C libraries and QEMU can go on.
 *            Every call without a row, and every future call, is refused.
 *   allowed  All other calls. The list was made from the code of QEMU and its libraries, and is
 *            longer than the calls that were seen. A list of the calls that machines without KVM
 *            make would end machines with KVM. A few calls are allowed for Firecracker and refused
 *            for QEMU.
 *
 * A call with the number of another architecture (i386 and x32 on x86-64) also ends the process.
 */
#ifndef BACKEND_PARTS_VMM_CALLS_H
#define BACKEND_PARTS_VMM_CALLS_H

#include <seccomp.h>
#include <stddef.h>

enum call_fate { CALL_KILLED, CALL_REFUSED, CALL_ALLOWED, CALL_ALLOWED_TO_FIRECRACKER };

struct vmm_call {
	/* The number in libseccomp; a number below 0 means that this architecture has no such
	 * call. */
	int number;
	enum call_fate fate;
	const char *name;
	const char *reason;
	/* Conditions on the arguments of the call. A condition whose `op` is 0 ends the array. */
	struct scmp_arg_cmp only[2];
};

/* The rows, ordered by fate, and by name among the rows of the same fate. */
extern const struct vmm_call vmm_calls[];
extern const size_t vmm_call_count;

#endif
