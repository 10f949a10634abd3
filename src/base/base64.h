/* SPDX-License-Identifier: MIT */
/* Base64 by RFC 4648 with the standard alphabet. A text without padding, or with any other byte, is
 * ERR_INVALID. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

char *base64_encode(const void *data, size_t len, struct error *err); /* malloc'd, NUL-terminated */
/* Appends the decoded bytes to `out`. */
int base64_decode(const char *text, size_t len, struct buf *out, struct error *err);

#endif
