/* SPDX-License-Identifier: MIT */
#include "artifact/elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_SEGMENTS 128

static int read_at(int fd, void *data, size_t len, uint64_t at)
{
	return at <= INT64_MAX && pread(fd, data, len, (off_t)at) == (ssize_t)len ? 0 : -1;
}

int elf_require_static(const char *path, enum architecture architecture, struct error *err)
{
	autoclose int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr head;
	Elf64_Phdr segment;

	if (fd < 0)
		return error_errno(err, errno, "%s", path);
	if (read_at(fd, &head, sizeof(head), 0) < 0 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(segment) ||
	    head.e_phnum > MAX_SEGMENTS)
		return error_set(
			err, ERR_INVALID,
			"%s is not a 64-bit ELF program, and a guest cannot run other programs: name a 64-bit ELF program",
			path);
	if (architecture_of_program(&head, sizeof(head)) != architecture)
		return error_set(err, ERR_INVALID,
				 "%s is not a program for %s: name one for that architecture", path,
				 architecture_name(architecture));
	for (unsigned i = 0; i < head.e_phnum; i++) {
		if (head.e_phoff > INT64_MAX ||
		    read_at(fd, &segment, sizeof(segment), head.e_phoff + i * sizeof(segment)) < 0)
			return error_set(
				err, ERR_INVALID,
				"%s is a damaged ELF program, because it is shorter than its headers say: build or copy it again",
				path);
		if (segment.p_type == PT_INTERP)
			return error_set(
				err, ERR_INVALID,
				"%s is not a static program, and the initrd has no libraries for it: link it with -static",
				path);
	}
	return 0;
}
