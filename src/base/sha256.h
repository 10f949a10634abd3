/* SPDX-License-Identifier: MIT */
/* SHA-256, by a library of the operating system. */
#ifndef BASE_SHA256_H
#define BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32
#define SHA256_TEXT (2 * SHA256_BYTES + 1)

/* The state of a computation. A copy of a state can be continued separately. The struct has room
 * for the state of each system's library, which has its own type for it. */
struct __attribute__((may_alias)) sha256 {
	uint64_t state[26];
};

void sha256_init(struct sha256 *sha);
void sha256_update(struct sha256 *sha, const void *bytes, size_t len);
void sha256_final(struct sha256 *sha, uint8_t out[SHA256_BYTES]);
/* Writes a digest in lower-case hex digits. */
void sha256_hex(const uint8_t digest[SHA256_BYTES], char out[SHA256_TEXT]);

#endif
