/* SPDX-License-Identifier: MIT */
#include "base/tree/tree_digest.h"

#include <stdlib.h>

/* Only the header of xxHash is used. A shared library would slow down each start of the command
 * line, and the guest's program is linked statically. */
#define XXH_INLINE_ALL
#include <xxhash.h>

struct tree_digest {
	XXH64_state_t state;
};

struct tree_digest *tree_digest_new(void)
{
	return calloc(1, sizeof(struct tree_digest));
}

void tree_digest_free(struct tree_digest *digest)
{
	free(digest);
}

void tree_digest_begin(struct tree_digest *digest)
{
	XXH64_reset(&digest->state, 0);
}

void tree_digest_add(struct tree_digest *digest, const void *bytes, size_t len)
{
	XXH64_update(&digest->state, bytes, len);
}

uint64_t tree_digest_end(const struct tree_digest *digest)
{
	return XXH64_digest(&digest->state);
}
