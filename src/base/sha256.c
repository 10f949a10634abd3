/* SPDX-License-Identifier: MIT */
#include "base/sha256.h"

void sha256_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < SHA256_BYTES; i++) {
		*out++ = digits[digest[i] >> 4];
		*out++ = digits[digest[i] & 15];
	}
	*out = '\0';
}
