/* SPDX-License-Identifier: MIT */
#include "artifact/pvm.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"

#define CODE_MAX 16
#define BLOCK_BYTES ((size_t)256 << 10)

/* Machine code that shows that a kernel is built for a PVM. Such a kernel runs one of these
 * instruction sequences when it first calls the PVM. */
static const struct {
	size_t len;
	unsigned char bytes[CODE_MAX];
} codes[] = {
	/* invlpg 0xffffffffff4d5650; cpuid. With these instructions, a kernel (CONFIG_PVM_GUEST)
	 * finds out on which KVM it runs. The instructions are PVM_SYNTHETIC_CPUID in
	 * arch/x86/include/uapi/asm/pvm_para.h of https://github.com/virt-pvm/linux. */
	{10, {0x0f, 0x01, 0x3c, 0x25, 0x50, 0x56, 0x4d, 0xff, 0x0f, 0xa2}},
	/* mov $0x4b564d10, %ecx; wrmsr. This program is tested under a private build of kvm_pvm
	 * (docs/tested.md). A guest of this build leaves the emulation by writing to this register.
	 * The header asm/kvm_para.h of Linux does not use the number of this register. */
	{7, {0xb9, 0x10, 0x4d, 0x56, 0x4b, 0x0f, 0x30}},
};

int pvm_find_code(const char *kernel, bool *out, struct error *err)
{
	autoclose int fd = path_open_file(kernel, err);
	autofree unsigned char *block = malloc(BLOCK_BYTES);
	/* Number of bytes from the end of the last block that are moved to the beginning of
	 * `block`. An instruction sequence may begin in these bytes and end in the next block. */
	size_t kept = 0;
	bool found = false;

	if (fd < 0)
		return -1;
	if (!block)
		return error_errno(err, ENOMEM, "%s", kernel);
	while (!found) {
		ssize_t n = read(fd, block + kept, BLOCK_BYTES - kept);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "%s", kernel);
		if (n == 0)
			break;
		size_t len = kept + (size_t)n;

		for (size_t i = 0; i < ARRAY_SIZE(codes) && !found; i++)
			found = memmem(block, len, codes[i].bytes, codes[i].len) != NULL;
		kept = len < CODE_MAX - 1 ? len : CODE_MAX - 1;
		memmove(block, block + len - kept, kept);
	}
	*out = found;
	return 0;
}
