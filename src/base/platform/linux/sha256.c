/* SPDX-License-Identifier: MIT */
/* The functions are in libmd, whose header is in Debian's package libmd-dev. */
#include <sha256.h>

#include "base/sha256.h"

_Static_assert(sizeof(SHA2_CTX) <= sizeof(struct sha256), "room for the state");

void sha256_init(struct sha256 *sha)
{
	SHA256Init((SHA2_CTX *)sha);
}

void sha256_update(struct sha256 *sha, const void *bytes, size_t len)
{
	SHA256Update((SHA2_CTX *)sha, bytes, len);
}

void sha256_final(struct sha256 *sha, uint8_t out[SHA256_BYTES])
{
	SHA256Final(out, (SHA2_CTX *)sha);
}
