/* SPDX-License-Identifier: MIT */
#include "hyperv/inputs/vhd_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "hyperv/machine/vhd.h"
#include "hyperv/windows/digest.h"

#define CHUNK (1u << 20)

static bool is_all_zero(const uint8_t *bytes, size_t len)
{
	return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static int write_at(HANDLE file, uint64_t at, const void *bytes, size_t len, struct error *err)
{
	OVERLAPPED place = {.Offset = (DWORD)at, .OffsetHigh = (DWORD)(at >> 32)};
	DWORD n = 0;

	if (!WriteFile(file, bytes, (DWORD)len, &n, &place) || n != len)
		return windows_error(err, GetLastError(), "write");
	return 0;
}

/* Copies a raw disk. Does not write chunks of zeros, since Windows fills such gaps with zeros. The
 * file is not marked as sparse, because HCS attaches a sparse file only if it is told to. */
static int copy_raw_disk(HANDLE from, HANDLE to, uint64_t bytes, struct digest *digest,
			 struct error *err)
{
	autofree uint8_t *chunk = malloc(CHUNK);

	if (!chunk)
		return error_errno(err, ENOMEM, "memory");
	for (uint64_t at = 0; at < bytes;) {
		size_t n = bytes - at < CHUNK ? (size_t)(bytes - at) : CHUNK;

		if (file_read_at(from, at, chunk, n, err) < 0 ||
		    digest_add(digest, chunk, n, err) < 0 ||
		    (!is_all_zero(chunk, n) && write_at(to, at, chunk, n, err) < 0))
			return -1;
		at += n;
	}
	return 0;
}

static int make_vhd_disk(HANDLE raw, HANDLE vhd, char sha256[FILE_DIGEST_TEXT], struct error *err)
{
	__attribute__((cleanup(digest_drop))) struct digest digest = {0};
	uint8_t footer[VHD_FOOTER], chance[16];
	uint64_t bytes = 0;
	struct guid id;

	if (file_size(raw, &bytes, err) < 0 || random_bytes(chance, sizeof(chance), err) < 0)
		return -1;
	id = guid_of_random(chance);
	if (vhd_footer(bytes, clock_real_ns() / (int64_t)NS_PER_S, &id, footer, err) < 0 ||
	    digest_begin(&digest, err) < 0 || copy_raw_disk(raw, vhd, bytes, &digest, err) < 0 ||
	    write_at(vhd, bytes, footer, sizeof(footer), err) < 0)
		return -1;
	if (!FlushFileBuffers(vhd))
		return windows_error(err, GetLastError(), "write");
	return digest_end(&digest, sha256, err);
}

static int make_at(HANDLE raw, const wchar_t *fresh, char sha256[FILE_DIGEST_TEXT],
		   struct error *err)
{
	autohandle HANDLE vhd = CreateFileW(fresh, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
					    FILE_ATTRIBUTE_NORMAL, NULL);

	if (vhd == INVALID_HANDLE_VALUE)
		return windows_error(err, GetLastError(), "virtual hard disk");
	return make_vhd_disk(raw, vhd, sha256, err);
}

int vhd_file_make(const char *raw, const char *path, char sha256[FILE_DIGEST_TEXT],
		  struct error *err)
{
	autohandle HANDLE from = file_open(raw, err);
	autofree char *fresh = NULL;
	autofree wchar_t *wide_fresh = NULL, *wide = NULL;

	if (from == INVALID_HANDLE_VALUE)
		return -1;
	if (asprintf(&fresh, "%s.new", path) < 0) {
		fresh = NULL;
		return error_errno(err, ENOMEM, "%s", path);
	}
	wide_fresh = text_wide_path(fresh, err);
	wide = text_wide_path(path, err);
	if (!wide_fresh || !wide)
		return -1;
	if (make_at(from, wide_fresh, sha256, err) < 0) {
		DeleteFileW(wide_fresh);
		return error_prefix(err, "%s, of %s", path, raw);
	}
	if (MoveFileExW(wide_fresh, wide, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
		return 0;
	windows_error(err, GetLastError(), "%s", path);
	DeleteFileW(wide_fresh);
	return -1;
}

static int check_open(HANDLE file, char sha256[FILE_DIGEST_TEXT], struct error *err)
{
	uint8_t footer[VHD_FOOTER] = {0};
	uint64_t size = 0, bytes = 0;

	if (file_size(file, &size, err) < 0 ||
	    (size >= VHD_FOOTER &&
	     file_read_at(file, size - VHD_FOOTER, footer, VHD_FOOTER, err) < 0) ||
	    vhd_check(footer, size, &bytes, err) < 0)
		return -1;
	return sha256 ? file_digest(file, bytes, sha256, err) : 0;
}

int vhd_file_check(const char *path, char sha256[FILE_DIGEST_TEXT], struct error *err)
{
	autohandle HANDLE file = file_open(path, err);

	if (file == INVALID_HANDLE_VALUE)
		return -1;
	return check_open(file, sha256, err) < 0 ? error_prefix(err, "%s", path) : 0;
}

static bool ends_in(const char *path, const char *end)
{
	size_t len = strlen(path), n = strlen(end);

	return len > n && strcasecmp(path + len - n, end) == 0;
}

static int check_vhdx(const char *path, struct error *err)
{
	autohandle HANDLE file = file_open(path, err);
	char signature[8];

	if (file == INVALID_HANDLE_VALUE)
		return -1;
	if (file_read_at(file, 0, signature, sizeof(signature), err) < 0 ||
	    memcmp(signature, "vhdxfile", sizeof(signature)) != 0)
		return error_set(err, ERR_INVALID,
				 "%s: the file is not a VHDX file, although its name ends in .vhdx",
				 path);
	return 0;
}

int vhd_file_check_disk(const char *path, struct error *err)
{
	if (ends_in(path, ".vhdx"))
		return check_vhdx(path, err);
	if (ends_in(path, ".vhd"))
		return vhd_file_check(path, NULL, err);
	return error_set(
		err, ERR_INVALID,
		"%s: Hyper-V attaches only virtual hard disks: name a file that ends in .vhd or .vhdx",
		path);
}
