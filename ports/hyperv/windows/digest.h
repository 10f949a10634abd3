/* SPDX-License-Identifier: MIT */
/* Digests and chance, of Windows' own (bcrypt.dll). */
#ifndef HYPERV_WINDOWS_DIGEST_H
#define HYPERV_WINDOWS_DIGEST_H

#include <winsock2.h>

#include <windows.h>

#include <bcrypt.h>

#include "hyperv/windows/file.h"

/* SHA-256; zeroed before, dropped after. */
struct digest {
	BCRYPT_ALG_HANDLE algorithm;
	BCRYPT_HASH_HANDLE hash;
};
int digest_begin(struct digest *digest, struct error *err);
int digest_add(struct digest *digest, void *bytes, size_t len, struct error *err);
int digest_end(struct digest *digest, char out[FILE_DIGEST_TEXT], struct error *err);
void digest_drop(struct digest *digest);

/* Hashes the first bytes of a file; UINT64_MAX: all of it. */
int file_digest(HANDLE file, uint64_t bytes, char out[FILE_DIGEST_TEXT], struct error *err);
/* Hashes that many bytes of a file from a place on, which all have to be there. */
int file_digest_range(HANDLE file, uint64_t at, uint64_t bytes, char out[FILE_DIGEST_TEXT],
		      struct error *err);
int random_bytes(void *out, size_t len, struct error *err);

#endif
