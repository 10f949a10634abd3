/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/cleanup.h"
#include "base/platform/linux/isolate.h"

unsigned isolate_condition_count(const struct isolate_syscall *row)
{
	unsigned n = 0;

	while (n < ARRAY_SIZE(row->only) && row->only[n].op)
		n++;
	return n;
}

#ifdef MICROAGENT_SANITIZE
int isolate_syscalls(const struct isolate_syscall *allowed, size_t count, struct error *err)
{
	(void)allowed, (void)count, (void)err;
	return 0;
}
#else
int isolate_syscalls(const struct isolate_syscall *allowed, size_t count, struct error *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
	int rc;

	if (!filter)
		return error_errno(err, ENOMEM, "system call filter");
	for (size_t i = 0; i < count; i++) {
		rc = seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, allowed[i].number,
					    isolate_condition_count(&allowed[i]), allowed[i].only);
		/* -EDOM means that this architecture does not have the system call. */
		if (rc < 0 && rc != -EDOM)
			return error_errno(err, -rc, "seccomp rule (%s)", allowed[i].reason);
	}
	rc = seccomp_load(filter);
	if (rc < 0)
		return error_errno(err, -rc, "load the system call filter");
	/* The filter is not freed: free() may use system calls that are now forbidden. The process
	 * keeps these few KiB until it exits. */
	return 0;
}
#endif
