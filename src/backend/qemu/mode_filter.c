/* SPDX-License-Identifier: MIT */
#include "backend/qemu/mode_filter.h"

#include <errno.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

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

static void release_filter(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* -EDOM: this architecture has no such call. */
static int check_seccomp(int rc, struct error *err)
{
	return rc < 0 && rc != -EDOM ? error_errno(err, -rc, "system call filter of a share") : 0;
}

static int add_mode_rules(scmp_filter_ctx filter, struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(giving); i++)
		for (size_t j = 0; j < ARRAY_SIZE(bits); j++) {
			const struct scmp_arg_cmp has = {giving[i].mode, SCMP_CMP_MASKED_EQ,
							 bits[j], bits[j]};

			if (check_seccomp(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EPERM),
								 giving[i].number, 1, &has),
					  err) < 0)
				return -1;
		}
	for (size_t i = 0; i < ARRAY_SIZE(unseen); i++)
		if (check_seccomp(seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(ENOSYS), unseen[i],
							 0, NULL),
				  err) < 0)
			return -1;
	return 0;
}

int mode_filter_open(int *fd, struct error *err)
{
	/* Calls of another architecture's numbers end the process: libseccomp's default. */
	__attribute__((cleanup(release_filter))) scmp_filter_ctx filter =
		seccomp_init(SCMP_ACT_ALLOW);
	autoclose int made = memfd_create("mode-filter", MFD_CLOEXEC);
	int rc;

	if (!filter || made < 0)
		return error_errno(err, filter ? errno : ENOMEM, "system call filter of a share");
	if (add_mode_rules(filter, err) < 0)
		return -1;
	rc = seccomp_export_bpf(filter, made);
	if (rc < 0 || lseek(made, 0, SEEK_SET) < 0)
		return error_errno(err, rc < 0 ? -rc : errno, "system call filter of a share");
	*fd = steal_fd(&made);
	return 0;
}
