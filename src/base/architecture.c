/* SPDX-License-Identifier: MIT */
#include "base/architecture.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"

static const struct {
	const char *name;
	const char *machine; /* of uname(2) */
	Elf64_Half elf;
} architecture_table[ARCHITECTURE_COUNT] = {
	[ARCHITECTURE_AMD64] = {"amd64", "x86_64", EM_X86_64},
	[ARCHITECTURE_ARM64] = {"arm64", "aarch64", EM_AARCH64},
};

const char *architecture_name(enum architecture architecture)
{
	return architecture < ARCHITECTURE_COUNT ? architecture_table[architecture].name
						 : "unknown";
}

enum architecture architecture_of_host(void)
{
	struct utsname host;
	int i = 0;

	if (uname(&host) < 0)
		return ARCHITECTURE_COUNT;
	while (i < ARCHITECTURE_COUNT && strcmp(host.machine, architecture_table[i].machine) != 0)
		i++;
	return (enum architecture)i;
}

/* Both architectures are little-endian, and a program for the other order is of neither. */
static enum architecture architecture_of_elf(const Elf64_Ehdr *head)
{
	int i = 0;

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_ident[EI_DATA] != ELFDATA2LSB)
		return ARCHITECTURE_COUNT;
	while (i < ARCHITECTURE_COUNT && head->e_machine != architecture_table[i].elf)
		i++;
	return (enum architecture)i;
}

bool architecture_of_kernel(const void *head, size_t len, enum architecture *out)
{
	static const struct {
		size_t at;
		const char magic[5];
		enum architecture is;
	} images[] = {
		{0x202, "HdrS", ARCHITECTURE_AMD64},
		{0x38, "ARM\x64", ARCHITECTURE_ARM64},
	};
	const unsigned char *bytes = head;
	Elf64_Ehdr elf;

	for (size_t i = 0; i < ARRAY_SIZE(images); i++)
		if (len >= images[i].at + 4 &&
		    memcmp(bytes + images[i].at, images[i].magic, 4) == 0) {
			*out = images[i].is;
			return true;
		}
	if (len < sizeof(elf) || memcmp(bytes, ELFMAG, SELFMAG) != 0)
		return false;
	memcpy(&elf, bytes, sizeof(elf));
	*out = architecture_of_elf(&elf);
	return true;
}

int architecture_check_kernel(int fd, bool *is_kernel, struct error *err)
{
	enum architecture kernel = ARCHITECTURE_COUNT, host = architecture_of_host();
	unsigned char head[KERNEL_HEAD];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	if (n < 0)
		return error_errno(err, errno, "read");
	*is_kernel = architecture_of_kernel(head, (size_t)n, &kernel);
	if (kernel == host || kernel == ARCHITECTURE_COUNT)
		return 0;
	return error_set(err, ERR_UNSUPPORTED,
			 "it is a kernel for %s, and the machines of this host are %s",
			 architecture_name(kernel), architecture_name(host));
}
