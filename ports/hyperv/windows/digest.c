/* SPDX-License-Identifier: MIT */
/* Makes digests and random bytes, with Windows' library bcrypt.dll. */
#include "hyperv/windows/digest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define CHUNK (1u << 20)
#define SHA256_BYTES 32

static int nt_error(NTSTATUS status, const char *what, struct error *err)
{
	return error_set(
		err, ERR_IO,
		"%s: Windows' bcrypt.dll fails with the status 0x%08lx, so no digest can be made",
		what, (unsigned long)status);
}

int digest_begin(struct digest *digest, struct error *err)
{
	NTSTATUS status =
		BCryptOpenAlgorithmProvider(&digest->algorithm, BCRYPT_SHA256_ALGORITHM, NULL, 0);

	digest->hash = NULL;
	if (!BCRYPT_SUCCESS(status)) {
		digest->algorithm = NULL;
		return nt_error(status, "SHA-256", err);
	}
	status = BCryptCreateHash(digest->algorithm, &digest->hash, NULL, 0, NULL, 0, 0);
	return BCRYPT_SUCCESS(status) ? 0 : nt_error(status, "SHA-256", err);
}

int digest_add(struct digest *digest, void *bytes, size_t len, struct error *err)
{
	NTSTATUS status = BCryptHashData(digest->hash, bytes, (ULONG)len, 0);

	return BCRYPT_SUCCESS(status) ? 0 : nt_error(status, "SHA-256", err);
}

int digest_end(struct digest *digest, char out[FILE_DIGEST_TEXT], struct error *err)
{
	uint8_t sum[SHA256_BYTES];
	NTSTATUS status = BCryptFinishHash(digest->hash, sum, sizeof(sum), 0);

	if (!BCRYPT_SUCCESS(status))
		return nt_error(status, "SHA-256", err);
	for (size_t i = 0; i < sizeof(sum); i++)
		snprintf(out + 2 * i, 3, "%02x", sum[i]);
	return 0;
}

void digest_drop(struct digest *digest)
{
	if (digest->hash)
		BCryptDestroyHash(digest->hash);
	if (digest->algorithm)
		BCryptCloseAlgorithmProvider(digest->algorithm, 0);
	*digest = (struct digest){0};
}

static int digest_bytes(struct digest *digest, HANDLE file, uint64_t from, uint64_t bytes,
			struct error *err)
{
	autofree uint8_t *chunk = malloc(CHUNK);

	if (!chunk)
		return error_errno(err, ENOMEM, "digest");
	for (uint64_t at = 0; at < bytes;) {
		size_t n = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;

		if (file_read_at(file, from + at, chunk, n, err) < 0 ||
		    digest_add(digest, chunk, n, err) < 0)
			return -1;
		at += n;
	}
	return 0;
}

int file_digest(HANDLE file, uint64_t bytes, char out[FILE_DIGEST_TEXT], struct error *err)
{
	uint64_t size = 0;

	if (file_size(file, &size, err) < 0)
		return -1;
	return file_digest_range(file, 0, bytes < size ? bytes : size, out, err);
}

int file_digest_range(HANDLE file, uint64_t at, uint64_t bytes, char out[FILE_DIGEST_TEXT],
		      struct error *err)
{
	__attribute__((cleanup(digest_drop))) struct digest digest = {0};

	if (digest_begin(&digest, err) < 0 || digest_bytes(&digest, file, at, bytes, err) < 0)
		return -1;
	return digest_end(&digest, out, err);
}

int random_bytes(void *out, size_t len, struct error *err)
{
	NTSTATUS status = BCryptGenRandom(NULL, out, (ULONG)len, BCRYPT_USE_SYSTEM_PREFERRED_RNG);

	return BCRYPT_SUCCESS(status) ? 0 : nt_error(status, "random bytes", err);
}
