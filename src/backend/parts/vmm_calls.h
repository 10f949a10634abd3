/* SPDX-License-Identifier: MIT */
/*
 * What becomes of each system call of a VMM. QEMU has a list of its own besides (-sandbox), which
 * forbids what its authors know that QEMU never does. Here is all that the kernel has:
 *
 *   killed   no VMM needs it, so that whoever makes it is no VMM any more: the process ends.
 *   refused  answered by ENOSYS, as a kernel that is older would: C libraries and QEMU know how
 *            to go on. So is every call without a row, and every call that is yet to come.
 *   allowed  the rest. It is wide on purpose, and was read from what QEMU and its libraries can
 *            do: what was seen of machines without KVM would end those with it. A few calls are
 *            allowed to Firecracker, and refused to QEMU.
 *
 * Calls of other architectures (i386 and x32 on x86-64) end the process too.
 */
#ifndef BACKEND_PARTS_VMM_CALLS_H
#define BACKEND_PARTS_VMM_CALLS_H

#include <seccomp.h>
#include <stddef.h>

enum call_fate { CALL_KILLED, CALL_REFUSED, CALL_ALLOWED, CALL_ALLOWED_TO_FIRECRACKER };

struct vmm_call {
	int number; /* libseccomp's: below 0 where this architecture has no such call */
	enum call_fate fate;
	const char *name;
	const char *reason;
	/* The calls that are meant: conditions on arguments, up to the first of op 0. */
	struct scmp_arg_cmp only[2];
};

/* By fate, and by name in each. */
extern const struct vmm_call vmm_calls[];
extern const size_t vmm_call_count;

#endif
