/* SPDX-License-Identifier: MIT */
#include "artifact/hash.h"

#include <errno.h>
#include <stdlib.h>

#include "base/sha256.h"

struct hash {
	struct sha256 sha;
};

struct hash *hash_new(struct error *err)
{
	struct hash *hash = malloc(sizeof(*hash));

	if (hash)
		sha256_init(&hash->sha);
	else
		error_errno(err, ENOMEM, "digest");
	return hash;
}

int hash_add(struct hash *hash, const void *bytes, size_t len, struct error *err)
{
	(void)err;
	sha256_update(&hash->sha, bytes, len);
	return 0;
}

int hash_end(struct hash *hash, char out[DIGEST_TEXT], struct error *err)
{
	uint8_t digest[SHA256_BYTES];

	(void)err;
	sha256_final(&hash->sha, digest);
	sha256_hex(digest, out);
	return 0;
}

void hash_free(struct hash **hash)
{
	free(*hash);
}
