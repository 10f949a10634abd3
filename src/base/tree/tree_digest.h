/* SPDX-License-Identifier: MIT */
/* Computes the digest of a file while the file is copied. The digest is XXH64, which is fast enough
 * on an emulated processor. */
#ifndef BASE_TREE_DIGEST_H
#define BASE_TREE_DIGEST_H

#include <stddef.h>
#include <stdint.h>

struct tree_digest;

struct tree_digest *tree_digest_new(void); /* returns NULL if there is no memory */
void tree_digest_free(struct tree_digest *digest);
void tree_digest_begin(struct tree_digest *digest);
void tree_digest_add(struct tree_digest *digest, const void *bytes, size_t len);
uint64_t tree_digest_end(const struct tree_digest *digest);

#endif
