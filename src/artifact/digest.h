/* SPDX-License-Identifier: MIT */
/* Computes SHA-256 digests of files and bytes. */
#ifndef ARTIFACT_DIGEST_H
#define ARTIFACT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DIGEST_TEXT 65 /* 64 lower-case hex digits and NUL */

/* Computes the digest of a whole regular file, without moving the descriptor's position. If `fd` is
 * a pipe, reads it to its end and computes the digest of these bytes. */
int digest_fd(int fd, char out[DIGEST_TEXT], struct error *err);
int digest_file(const char *path, char out[DIGEST_TEXT], struct error *err);
/* Computes the digest of `size` bytes of a regular file from the offset `at` on, or of fewer bytes
 * if the file ends earlier. */
int digest_range(int fd, uint64_t at, uint64_t size, char out[DIGEST_TEXT], struct error *err);
int digest_bytes(const void *data, size_t len, char out[DIGEST_TEXT], struct error *err);

#endif
