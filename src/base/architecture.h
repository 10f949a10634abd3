/* SPDX-License-Identifier: MIT */
/* Processor architectures, by the words that the protocol has for them, which are Go's and the
 * OCI's too. */
#ifndef BASE_ARCHITECTURE_H
#define BASE_ARCHITECTURE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Where a file tells nothing of itself, or tells of a third one: ARCHITECTURE_COUNT. */
enum architecture { ARCHITECTURE_AMD64, ARCHITECTURE_ARM64, ARCHITECTURE_COUNT };

/* "amd64", "arm64"; "unknown" for ARCHITECTURE_COUNT. */
const char *architecture_name(enum architecture architecture);
/* By one of these names; ARCHITECTURE_COUNT for any other text. */
enum architecture architecture_from_name(const char *name);
/* The same by a name that people have for it too: "x86_64", "x86-64", "aarch64". */
enum architecture architecture_from_word(const char *word);
/* The one that this program runs on, as the kernel says (uname(2)). */
enum architecture architecture_of_host(void);
/* ERR_UNSUPPORTED where that is none of them, by its own word: what goes on indexes tables by it.
 */
int architecture_check_host(struct error *err);

#define KERNEL_HEAD 576 /* bytes of a kernel that tell what it is */

/* Whether the first len bytes are those of a bzImage, which holds its kernel packed. */
bool architecture_is_bzimage(const void *head, size_t len);
bool architecture_is_packed_kernel(const char *path);
/* Whether the first len bytes are those of a kernel: a bzImage (Documentation/arch/x86/boot.rst),
 * an arm64 Image (Documentation/arch/arm64/booting.rst) or an ELF image. */
bool architecture_of_kernel(const void *head, size_t len, enum architecture *out);
/* The same of a file. false: it is no kernel. */
int architecture_read_kernel(int fd, bool *is_kernel, enum architecture *out, struct error *err);
/* What a file that is no kernel is not. */
#define NO_KERNEL_WORDS "neither a bzImage, an ELF image nor an arm64 Image"
/* ERR_INVALID (REASON_NOT_A_KERNEL, of no subject) for a file that is surely no kernel,
 * ERR_UNSUPPORTED for a kernel of another architecture than the machine's. One of a third
 * architecture (a 32-bit image of a PVH kernel) is let pass, and so is a compressed arm64 Image for
 * an arm64 machine: that is a VMM's to judge. */
int architecture_check_kernel(int fd, enum architecture machine, struct error *err);
/* Of a 64-bit program, by the head of its file; ARCHITECTURE_COUNT for what is none. */
enum architecture architecture_of_program(const void *head, size_t len);

#endif
