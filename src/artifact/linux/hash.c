/* SPDX-License-Identifier: MIT */
#include "artifact/hash.h"

#include <openssl/evp.h>

#include "base/sha256.h"

/* Converts a pointer to struct hash into a pointer to libcrypto's context. A struct hash always is
 * such a context. */
static EVP_MD_CTX *context_of(struct hash *hash)
{
	return (EVP_MD_CTX *)hash;
}

struct hash *hash_new(struct error *err)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) == 1)
		return (struct hash *)ctx;
	EVP_MD_CTX_free(ctx);
	error_set(
		err, ERR_INTERNAL,
		"this host's libcrypto offers no SHA-256, so no digest can be made: install the library of OpenSSL again");
	return NULL;
}

int hash_add(struct hash *hash, const void *bytes, size_t len, struct error *err)
{
	if (EVP_DigestUpdate(context_of(hash), bytes, len) != 1)
		return error_set(err, ERR_INTERNAL, "libcrypto: SHA-256 failed");
	return 0;
}

int hash_end(struct hash *hash, char out[DIGEST_TEXT], struct error *err)
{
	unsigned char raw[EVP_MAX_MD_SIZE];
	unsigned int len = 0;

	if (EVP_DigestFinal_ex(context_of(hash), raw, &len) != 1 || len != SHA256_BYTES)
		return error_set(err, ERR_INTERNAL, "libcrypto: SHA-256 failed");
	sha256_hex(raw, out);
	return 0;
}

void hash_free(struct hash **hash)
{
	EVP_MD_CTX_free(context_of(*hash));
}
