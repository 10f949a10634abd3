/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>

#include "api/api.h"
#include "base/architecture.h"
#include "base/cleanup.h"

int kernel_check(const char *path, struct error *err)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	enum architecture says;
	bool is_kernel;

	if (fd < 0)
		return error_errno(err, errno, "kernel %s", path);
	if (architecture_read_kernel(fd, &is_kernel, &says, err) < 0)
		return error_prefix(err, "kernel %s", path);
	if (is_kernel)
		return 0;
	error_set(err, ERR_INVALID,
		  "%s is not a kernel (neither a bzImage, an ELF image nor an arm64 Image)", path);
	return error_reason(err, REASON_NOT_A_KERNEL, path);
}
