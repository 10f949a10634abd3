/* SPDX-License-Identifier: MIT */
#include "backend/parts/vmm_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/parts/vmm_calls.h"
#include "base/cleanup.h"
#include "base/platform/linux/isolate_filter.h"

#define NAME "the VMM"
/* libseccomp's value that makes the filter a tree and not a list of 300 comparisons. A tree is
 * faster on kernels that do not remember the filter's answers. */
#define AS_TREE 2

int vmm_filter_mode(const char *variable, bool *only_logs, struct error *err)
{
	const char *word = secure_getenv(variable);

	if (word && *word && strcmp(word, "log") != 0)
		return error_set(err, ERR_INVALID,
				 "the variable %s must be \"log\" or unset, and is \"%.32s\"",
				 variable, word);
	*only_logs = word && *word;
	return 0;
}

static enum call_fate fate_of(const struct vmm_call *call, enum vmm_program program)
{
	if (call->fate != CALL_ALLOWED_TO_FIRECRACKER)
		return call->fate;
	return program == VMM_FIRECRACKER ? CALL_ALLOWED : CALL_REFUSED;
}

static uint32_t action_of(enum call_fate fate, bool only_logs)
{
	if (fate == CALL_ALLOWED)
		return SCMP_ACT_ALLOW;
	if (only_logs)
		return SCMP_ACT_LOG;
	return fate == CALL_KILLED ? SCMP_ACT_KILL_PROCESS : SCMP_ACT_ERRNO(ENOSYS);
}

int vmm_filter_open(enum vmm_program program, bool only_logs, int *fd, struct error *err)
{
	autofilter filter = seccomp_init(action_of(CALL_REFUSED, only_logs));

	if (!filter)
		return error_errno(err, ENOMEM, "system call filter of " NAME);
	/* This is the first call for which libseccomp asks the kernel. The call fails if the kernel
	 * cannot end a whole process, or cannot log a system call. */
	if (seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, action_of(CALL_KILLED, only_logs)) <
	    0)
		return error_set(
			err, ERR_UNAVAILABLE,
			"this kernel does not have the system call filter that the VMM needs: boot this host with Linux 4.14 or newer");
	if (isolate_filter_check(seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, AS_TREE), NAME,
				 err) < 0)
		return -1;
	for (size_t i = 0; i < vmm_call_count; i++) {
		const struct vmm_call *call = &vmm_calls[i];
		uint32_t action = action_of(fate_of(call, program), only_logs);
		unsigned conditions = 0;

		/* Libseccomp refuses a row whose action is the filter's default action. */
		if (action == action_of(CALL_REFUSED, only_logs))
			continue;
		while (conditions < ARRAY_SIZE(call->only) && call->only[conditions].op)
			conditions++;
		if (isolate_filter_check(seccomp_rule_add_array(filter, action, call->number,
								conditions, call->only),
					 call->name, err) < 0)
			return -1;
	}
	return isolate_filter_export(filter, NAME, fd, err);
}
