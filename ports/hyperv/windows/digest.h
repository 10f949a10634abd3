/* SPDX-License-Identifier: MIT */
/* Functions that make digests and random bytes, with Windows' library bcrypt.dll. */
#ifndef HYPERV_WINDOWS_DIGEST_H
#define HYPERV_WINDOWS_DIGEST_H

#include <winsock2.h>

#include <windows.h>

#include <bcrypt.h>

#include "hyperv/windows/file.h"

/* The state of one SHA-256 calculation. The caller sets all members to 0 before digest_begin(), and
 * calls digest_drop() at the end. */
struct digest {
	BCRYPT_ALG_HANDLE algorithm;
	BCRYPT_HASH_HANDLE hash;
};
int digest_begin(struct digest *digest, struct error *err);
int digest_add(struct digest *digest, void *bytes, size_t len, struct error *err);
int digest_end(struct digest *digest, char out[FILE_DIGEST_TEXT], struct error *err);
void digest_drop(struct digest *digest);

/* Hashes the first `bytes` bytes of a file; UINT64_MAX means the whole file. */
int file_digest(HANDLE file, uint64_t bytes, char out[FILE_DIGEST_TEXT], struct error *err);
/* Hashes `bytes` bytes of a file, from the byte offset `at` on. Fails if the file has fewer
 * bytes. */
int file_digest_range(HANDLE file, uint64_t at, uint64_t bytes, char out[FILE_DIGEST_TEXT],
		      struct error *err);
int random_bytes(void *out, size_t len, struct error *err);

#endif
