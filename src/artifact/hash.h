/* SPDX-License-Identifier: MIT */
/* Computes SHA-256 digests with the fastest library of the operating system: libcrypto
 * (linux/hash.c) or CommonCrypto (darwin/hash.c). */
#ifndef ARTIFACT_HASH_H
#define ARTIFACT_HASH_H

#include "artifact/digest.h"

struct hash;

struct hash *hash_new(struct error *err);
int hash_add(struct hash *hash, const void *bytes, size_t len, struct error *err);
int hash_end(struct hash *hash, char out[DIGEST_TEXT], struct error *err);
void hash_free(struct hash **hash); /* does nothing for NULL */
#define auto_hash __attribute__((cleanup(hash_free)))

#endif
