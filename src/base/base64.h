/* SPDX-License-Identifier: MIT */
/* Base64 by RFC 4648 with the standard alphabet. Decoding fails with ERR_INVALID if padding is
 * missing, or if a byte is not in the alphabet. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

/* Returns a NUL-terminated text, which the caller frees. Returns NULL with an error if there is no
 * memory. */
char *base64_encode(const void *data, size_t len, struct error *err);
/* Appends the decoded bytes to `out`. */
int base64_decode(const char *text, size_t len, struct buf *out, struct error *err);

#endif
