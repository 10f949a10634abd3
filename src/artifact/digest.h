/* SPDX-License-Identifier: MIT */
/* SHA-256 of files and bytes. */
#ifndef ARTIFACT_DIGEST_H
#define ARTIFACT_DIGEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define DIGEST_TEXT 65 /* 64 lower-case hex digits and NUL */

/* Hashes a whole regular file, from its beginning and without a change of its position. Of a pipe,
 * hashes all that can be read until its end. */
int digest_fd(int fd, char out[DIGEST_TEXT], struct error *err);
int digest_file(const char *path, char out[DIGEST_TEXT], struct error *err);
/* Hashes `size` bytes of a regular file from the offset `at` on, or fewer if the file ends
 * before. */
int digest_range(int fd, uint64_t at, uint64_t size, char out[DIGEST_TEXT], struct error *err);
int digest_bytes(const void *data, size_t len, char out[DIGEST_TEXT], struct error *err);

#endif
