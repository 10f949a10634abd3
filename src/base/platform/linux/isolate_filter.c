/* SPDX-License-Identifier: MIT */
#include "base/platform/linux/isolate_filter.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"

void isolate_filter_release(scmp_filter_ctx *filter)
{
	if (*filter)
		seccomp_release(*filter);
}

/* Accepts -EDOM, which says that this architecture does not have the system call. */
int isolate_filter_check(int rc, const char *name, struct error *err)
{
	return rc < 0 && rc != -EDOM ? error_errno(err, -rc, "system call filter of %s", name) : 0;
}

int isolate_filter_export(scmp_filter_ctx filter, const char *name, int *fd, struct error *err)
{
	autoclose int made = memfd_create("filter", MFD_CLOEXEC);

	if (made < 0 || isolate_filter_check(seccomp_export_bpf(filter, made), name, err) < 0)
		return made < 0 ? error_errno(err, errno, "system call filter of %s", name) : -1;
	if (lseek(made, 0, SEEK_SET) < 0)
		return error_errno(err, errno, "system call filter of %s", name);
	*fd = steal_fd(&made);
	return 0;
}
