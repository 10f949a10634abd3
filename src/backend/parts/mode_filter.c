/* SPDX-License-Identifier: MIT */
#include "backend/parts/mode_filter.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/platform/linux/isolate_filter.h"

#define NAME "a share"

/* Linux 6.6; the same number on every architecture, and no name in older headers. */
#define FCHMODAT2 452

/* The call, and which of its arguments is a file's mode. */
static const struct {
	int number;
	unsigned mode;
} giving[] = {
	{SCMP_SYS(chmod), 1},  {SCMP_SYS(fchmod), 1}, {SCMP_SYS(fchmodat), 2},
	{FCHMODAT2, 2},	       {SCMP_SYS(open), 2},   {SCMP_SYS(creat), 1},
	{SCMP_SYS(openat), 3}, {SCMP_SYS(mknod), 1},  {SCMP_SYS(mknodat), 2},
};

static const unsigned bits[] = {S_ISUID, S_ISGID};

/* Behind a pointer, or in a ring. */
static const int unseen[] = {SCMP_SYS(openat2), SCMP_SYS(io_uring_setup)};

static int add_mode_rules(scmp_filter_ctx filter, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(giving); i++)
		for (size_t j = 0; j < ARRAY_SIZE(bits); j++) {
			const struct scmp_arg_cmp has = {giving[i].mode, SCMP_CMP_MASKED_EQ,
							 bits[j], bits[j]};

			if (isolate_filter_check(seccomp_rule_add_array(filter,
									SCMP_ACT_ERRNO(EPERM),
									giving[i].number, 1, &has),
						 NAME, err) < 0)
				return -1;
		}
	for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
		if (isolate_filter_check(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS),
								unseen[i], 0, NULL),
					 NAME, err) < 0)
			return -1;
	return 0;
}

int mode_filter_open(int *fd, struct error *err)
{
	/* Calls of another architecture's numbers end the thread: libseccomp's default. */
	autofilter filter = seccomp_init(SCMP_ACT_ALLOW);

	if (!filter)
		return error_errno(err, ENOMEM, "system call filter of " NAME);
	if (add_mode_rules(filter, err) < 0)
		return -1;
	return isolate_filter_export(filter, NAME, fd, err);
}
