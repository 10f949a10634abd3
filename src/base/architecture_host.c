/* SPDX-License-Identifier: MIT */
/* Determines the architecture of this host, and of files on it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/architecture.h"
#include "base/cleanup.h"

enum architecture architecture_of_host(void)
{
	struct utsname host;

	return uname(&host) < 0 ? ARCHITECTURE_COUNT : architecture_from_word(host.machine);
}

int architecture_check_host(struct error *err)
{
	struct utsname host = {.machine = "unknown"};

	if (architecture_of_host() < ARCHITECTURE_COUNT)
		return 0;
	(void)uname(&host);
	return error_set(
		err, ERR_UNSUPPORTED,
		"this host's architecture is %s, but microagent runs only on amd64 (x86_64) and arm64 (aarch64)",
		host.machine);
}

bool architecture_is_packed_kernel(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char head[KERNEL_HEAD];
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	return n > 0 && architecture_is_bzimage(head, (size_t)n);
}

int architecture_read_kernel(int fd, bool *is_kernel, enum architecture *out, struct error *err)
{
	enum architecture kernel = ARCHITECTURE_COUNT;
	unsigned char head[KERNEL_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n < 0)
		return error_errno(err, errno, "read");
	*is_kernel = architecture_of_kernel(head, (size_t)n, &kernel);
	*out = kernel;
	return 0;
}

/* Returns true if a file is a compressed arm64 Image: one that is compressed by gzip, or is
 * contained in an EFI program that unpacks it (drivers/firmware/efi/libstub/zboot-header.S). QEMU
 * accepts both forms. */
static bool is_compressed_image(int fd)
{
	unsigned char head[8] = {0};

	if (pread(fd, head, sizeof(head), 0) != sizeof(head))
		return false;
	return memcmp(head, "\x1f\x8b", 2) == 0 ||
	       (memcmp(head, "MZ", 2) == 0 && memcmp(head + 4, "zimg", 4) == 0);
}

int architecture_check_kernel(int fd, enum architecture machine, struct error *err)
{
	enum architecture kernel;
	bool is_kernel;

	if (architecture_read_kernel(fd, &is_kernel, &kernel, err) < 0)
		return -1;
	if (!is_kernel && !(machine == ARCHITECTURE_ARM64 && is_compressed_image(fd))) {
		error_set(
			err, ERR_INVALID,
			"the file is not a kernel (neither a bzImage, an ELF image nor an arm64 Image)");
		return error_reason(err, REASON_NOT_A_KERNEL, "");
	}
	if (kernel == machine || kernel == ARCHITECTURE_COUNT)
		return 0;
	error_set(
		err, ERR_UNSUPPORTED,
		"the file is a kernel for %s, but the machine is %s: choose another kernel, or another architecture",
		architecture_name(kernel), architecture_name(machine));
	return error_reason(err, REASON_OTHER_ARCHITECTURE, architecture_name(kernel));
}
