/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/api.h"
#include "base/cleanup.h"

/* What a file that boots begins with; the longest of these ends within HEAD_BYTES. */
static const struct magic {
	size_t at, len;
	const char *bytes;
} magics[] = {
	{0, 4, "\177ELF"},   /* vmlinux */
	{0x202, 4, "HdrS"},  /* bzImage: the boot protocol's header */
	{0x38, 4, "ARM\x64"} /* Image of arm64 */
};
#define HEAD_BYTES 1024

static bool is_kernel(const char *head, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
		const struct magic *m = &magics[i];

		if (m->at + m->len <= len && memcmp(head + m->at, m->bytes, m->len) == 0)
			return true;
	}
	return false;
}

int kernel_check(const char *path, struct error *err)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char head[HEAD_BYTES];
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	if (n < 0)
		return error_errno(err, errno, "kernel %s", path);
	if (!is_kernel(head, (size_t)n)) {
		error_set(err, ERR_INVALID,
			  "%s is not a kernel (neither a bzImage nor an ELF file)", path);
		return error_reason(err, REASON_NOT_A_KERNEL, path);
	}
	return 0;
}
