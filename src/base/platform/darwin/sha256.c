/* SPDX-License-Identifier: MIT */
/* The functions are in CommonCrypto, a part of libSystem: CC_SHA256(3cc) of macOS. */
#include <CommonCrypto/CommonDigest.h>

#include "base/sha256.h"

_Static_assert(sizeof(CC_SHA256_CTX) <= sizeof(struct sha256), "room for the state");

/* The most bytes that are passed in one call, because the length has only 32 bits. */
#define PIECE ((size_t)1 << 30)

void sha256_init(struct sha256 *sha)
{
	CC_SHA256_Init((CC_SHA256_CTX *)sha);
}

void sha256_update(struct sha256 *sha, const void *bytes, size_t len)
{
	for (size_t at = 0; at < len; at += PIECE)
		CC_SHA256_Update((CC_SHA256_CTX *)sha, (const uint8_t *)bytes + at,
				 (CC_LONG)(len - at < PIECE ? len - at : PIECE));
}

void sha256_final(struct sha256 *sha, uint8_t out[SHA256_BYTES])
{
	CC_SHA256_Final(out, (CC_SHA256_CTX *)sha);
}
