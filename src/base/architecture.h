/* SPDX-License-Identifier: MIT */
/* Processor architectures. They have the names of the protocol, which are also those of Go and the
 * OCI. */
#ifndef BASE_ARCHITECTURE_H
#define BASE_ARCHITECTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* ARCHITECTURE_COUNT stands for a file that names no architecture, or another one than these
 * two. */
enum architecture { ARCHITECTURE_AMD64, ARCHITECTURE_ARM64, ARCHITECTURE_COUNT };

/* Returns "amd64" or "arm64"; "unknown" for ARCHITECTURE_COUNT. */
const char *architecture_name(enum architecture architecture);
/* Returns the architecture with one of these names; ARCHITECTURE_COUNT for any other text. */
enum architecture architecture_from_name(const char *name);
/* Returns the same, and also knows the names that people use: "x86_64", "x86-64", "aarch64". */
enum architecture architecture_from_word(const char *word);
/* Returns the architecture on which this program runs, as the kernel reports it (uname(2)). */
enum architecture architecture_of_host(void);
/* Fails with ERR_UNSUPPORTED, naming the kernel's word, if the host's architecture is none of
 * these. After this check the architecture may be used as the index of a table. */
int architecture_check_host(struct error *err);

#define KERNEL_HEAD 576 /* bytes at the start of a kernel that show what it is */

/* Return whether a file is a bzImage, which holds its kernel packed: by its first len bytes, or by
 * its path. */
bool architecture_is_bzimage(const void *head, size_t len);
bool architecture_is_packed_kernel(const char *path);
/* Returns whether the first len bytes are those of a kernel, and stores its architecture: a bzImage
 * (Documentation/arch/x86/boot.rst), an arm64 Image (Documentation/arch/arm64/booting.rst) or an
 * ELF image. */
bool architecture_of_kernel(const void *head, size_t len, enum architecture *out);
/* Does the same for a file. Sets *is_kernel to false if the file is no kernel. */
int architecture_read_kernel(int fd, bool *is_kernel, enum architecture *out, struct error *err);
/* Says what a file is not if it is no kernel. */
#define NO_KERNEL_WORDS "neither a bzImage, an ELF image nor an arm64 Image"
/* Fails with ERR_INVALID (REASON_NOT_A_KERNEL, without a subject) for a file that is surely no
 * kernel, and with ERR_UNSUPPORTED for a kernel of another architecture than the machine's. A
 * kernel of a third architecture (a 32-bit image of a PVH kernel) is accepted, and so is a
 * compressed arm64 Image for an arm64 machine: only a VMM can judge those. */
int architecture_check_kernel(int fd, enum architecture machine, struct error *err);
/* Returns the architecture of a 64-bit program, by the first bytes of its file; ARCHITECTURE_COUNT
 * if the file is no such program. */
enum architecture architecture_of_program(const void *head, size_t len);

#endif
