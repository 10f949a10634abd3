/* SPDX-License-Identifier: MIT */
#include "base/architecture.h"

#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *name;
	const char *machine; /* the name of the architecture in uname(2) */
	const char *also;    /* another name of the architecture that people use */
	uint16_t elf;	     /* the value of e_machine in an ELF header */
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

/* ELF by its specification (System V ABI, "ELF Header"): class 2 is 64-bit, data 1 is
 * little-endian. Both amd64 and arm64 are little-endian, so a big-endian program is for neither of
 * them. */
#define ELF_HEADER 64
#define ELF_CLASS 4
#define ELF_DATA 5
#define ELF_MACHINE 18

static bool is_elf(const uint8_t *head, size_t len)
{
	return len >= ELF_HEADER && memcmp(head, "\177ELF", 4) == 0;
}

enum architecture architecture_of_program(const void *head, size_t len)
{
	const uint8_t *elf = head;
	int i = 0;

	if (!is_elf(elf, len) || elf[ELF_CLASS] != 2 || elf[ELF_DATA] != 1)
		return ARCHITECTURE_COUNT;
	unsigned machine = elf[ELF_MACHINE] | (unsigned)elf[ELF_MACHINE + 1] << 8;
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
