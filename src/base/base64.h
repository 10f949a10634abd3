/* SPDX-License-Identifier: MIT */
/* RFC 4648 base64, standard alphabet, padding required, nothing else accepted. */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

char *base64_encode(const void *data, size_t len, struct error *err); /* malloc'd, NUL-terminated */
int base64_decode(const char *text, size_t len, struct buf *out, struct error *err);

#endif
