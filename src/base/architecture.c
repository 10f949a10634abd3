/* SPDX-License-Identifier: MIT */
#include "base/architecture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"

/* The head of an ELF file of 64 bits (System V ABI, chapter 4), as far as we read it: not every
 * system has elf.h. */
#define ELF_HEAD 64 /* bytes of it */
#define ELF_CLASS 4 /* places in it */
#define ELF_DATA 5
#define ELF_MACHINE 18
#define ELF_CLASS_64 2
#define ELF_DATA_LITTLE 1

static const struct {
	const char *name;
	const char *machine; /* of uname(2) on Linux; others say the name */
	const char *also;    /* what people write besides */
	unsigned elf;	     /* e_machine */
} architecture_table[ARCHITECTURE_COUNT] = {
	[ARCHITECTURE_AMD64] = {"amd64", "x86_64", "x86-64", 62},
	[ARCHITECTURE_ARM64] = {"arm64", "aarch64", "aarch64", 183},
};

const char *architecture_name(enum architecture architecture)
{
	return architecture < ARCHITECTURE_COUNT ? architecture_table[architecture].name
						 : "unknown";
}

enum architecture architecture_from_name(const char *name)
{
	int i = 0;

	while (i < ARCHITECTURE_COUNT && strcmp(name, architecture_table[i].name) != 0)
		i++;
	return (enum architecture)i;
}

enum architecture architecture_from_word(const char *word)
{
	int i = 0;

	while (i < ARCHITECTURE_COUNT && strcmp(word, architecture_table[i].name) != 0 &&
	       strcmp(word, architecture_table[i].machine) != 0 &&
	       strcmp(word, architecture_table[i].also) != 0)
		i++;
	return (enum architecture)i;
}

enum architecture architecture_of_host(void)
{
	struct utsname host;
	int i = 0;

	if (uname(&host) < 0)
		return ARCHITECTURE_COUNT;
	while (i < ARCHITECTURE_COUNT && strcmp(host.machine, architecture_table[i].machine) != 0 &&
	       strcmp(host.machine, architecture_table[i].name) != 0)
		i++;
	return (enum architecture)i;
}

int architecture_check_host(struct error *err)
{
	struct utsname host = {.machine = "unknown"};

	if (architecture_of_host() < ARCHITECTURE_COUNT)
		return 0;
	(void)uname(&host);
	return error_set(err, ERR_UNSUPPORTED,
			 "this host's architecture is %s, and microagent is for amd64 (x86_64) and "
			 "arm64 (aarch64)",
			 host.machine);
}

static bool is_elf(const void *head, size_t len)
{
	return len >= ELF_HEAD && memcmp(head, "\177ELF", 4) == 0;
}

/* Both architectures are little-endian, and a program for the other order is of neither. */
enum architecture architecture_of_program(const void *head, size_t len)
{
	const unsigned char *elf = head;
	unsigned machine;
	int i = 0;

	if (!is_elf(head, len) || elf[ELF_CLASS] != ELF_CLASS_64 ||
	    elf[ELF_DATA] != ELF_DATA_LITTLE)
		return ARCHITECTURE_COUNT;
	machine = elf[ELF_MACHINE] | (unsigned)elf[ELF_MACHINE + 1] << 8;
	while (i < ARCHITECTURE_COUNT && machine != architecture_table[i].elf)
		i++;
	return (enum architecture)i;
}

static bool has_magic(const void *head, size_t len, size_t at, const char *magic)
{
	return len >= at + 4 && memcmp((const char *)head + at, magic, 4) == 0;
}

bool architecture_is_bzimage(const void *head, size_t len)
{
	return has_magic(head, len, 0x202, "HdrS");
}

bool architecture_is_packed_kernel(const char *path)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	unsigned char head[KERNEL_HEAD];
	ssize_t n = fd < 0 ? -1 : pread(fd, head, sizeof(head), 0);

	return n > 0 && architecture_is_bzimage(head, (size_t)n);
}

bool architecture_of_kernel(const void *head, size_t len, enum architecture *out)
{
	bool bzimage = architecture_is_bzimage(head, len);

	if (bzimage || has_magic(head, len, 0x38, "ARM\x64")) {
		*out = bzimage ? ARCHITECTURE_AMD64 : ARCHITECTURE_ARM64;
		return true;
	}
	if (!is_elf(head, len))
		return false;
	*out = architecture_of_program(head, len);
	return true;
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

int architecture_check_kernel(int fd, enum architecture machine, struct error *err)
{
	enum architecture kernel;
	bool is_kernel;

	if (architecture_read_kernel(fd, &is_kernel, &kernel, err) < 0)
		return -1;
	if (kernel == machine || kernel == ARCHITECTURE_COUNT)
		return 0;
	error_set(err, ERR_UNSUPPORTED, "it is a kernel for %s, and the machine is %s",
		  architecture_name(kernel), architecture_name(machine));
	return error_reason(err, REASON_OTHER_ARCHITECTURE, architecture_name(kernel));
}
