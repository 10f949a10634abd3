/* SPDX-License-Identifier: MIT */
/* Processor architectures. The names of the architectures are those of the protocol, which Go and
 * the OCI use too. */
#ifndef BASE_ARCHITECTURE_H
#define BASE_ARCHITECTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* ARCHITECTURE_COUNT means that a file names no architecture, or one other than amd64 and arm64. */
enum architecture { ARCHITECTURE_AMD64, ARCHITECTURE_ARM64, ARCHITECTURE_COUNT };

/* Returns "amd64" or "arm64"; "unknown" for ARCHITECTURE_COUNT. */
const char *architecture_name(enum architecture architecture);
/* Returns the architecture "amd64" or "arm64"; ARCHITECTURE_COUNT for any other text. */
enum architecture architecture_from_name(const char *name);
/* Returns the same as architecture_from_name(), but also accepts the common names "x86_64",
 * "x86-64" and "aarch64". */
enum architecture architecture_from_word(const char *word);
/* Returns the architecture on which this program runs, as the kernel reports it (uname(2)). */
enum architecture architecture_of_host(void);
/* Checks that the host's architecture is amd64 or arm64, so that it may be used as the index of a
 * table. Otherwise fails with ERR_UNSUPPORTED; the message has the kernel's name for the
 * architecture. */
int architecture_check_host(struct error *err);

/* The number of bytes at the start of a file that show whether the file is a kernel. */
#define KERNEL_HEAD 576

/* Return true if a file is a bzImage, which contains the kernel in compressed form. The first
 * function gets the first `len` bytes of the file, the second function its path. */
bool architecture_is_bzimage(const void *head, size_t len);
bool architecture_is_packed_kernel(const char *path);
/* Returns true if the first `len` bytes of a file show that it is a kernel, and stores the
 * architecture of the kernel in *out. Recognises three formats: bzImage
 * (Documentation/arch/x86/boot.rst), arm64 Image (Documentation/arch/arm64/booting.rst) and ELF. */
bool architecture_of_kernel(const void *head, size_t len, enum architecture *out);
/* Reads the first bytes of the file `fd`, and examines them as architecture_of_kernel() does. Sets
 * *is_kernel to true if the file is a kernel, otherwise to false. */
int architecture_read_kernel(int fd, bool *is_kernel, enum architecture *out, struct error *err);
/* Checks that a file can be the kernel of a machine. Fails with ERR_INVALID (REASON_NOT_A_KERNEL,
 * without a subject) for a file that is certainly not a kernel. Fails with ERR_UNSUPPORTED
 * (REASON_OTHER_ARCHITECTURE) if the kernel is for amd64 and `machine` is arm64, or the other way
 * round. Accepts two kinds of file that only a VMM can check: an ELF image for any other
 * architecture (a PVH kernel is a 32-bit image), and, for an arm64 machine, a compressed arm64
 * Image. */
int architecture_check_kernel(int fd, enum architecture machine, struct error *err);
/* Returns the architecture of a 64-bit program, from the first `len` bytes of its file;
 * ARCHITECTURE_COUNT if the file is not a 64-bit program for amd64 or arm64. */
enum architecture architecture_of_program(const void *head, size_t len);

#endif
