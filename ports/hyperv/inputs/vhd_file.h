/* SPDX-License-Identifier: MIT */
/* Makes and checks files that are virtual hard disks (VHD). */
#ifndef HYPERV_VHD_FILE_H
#define HYPERV_VHD_FILE_H

#include "hyperv/windows/file.h"

/* Makes a fixed VHD at `path` from the raw disk at `raw`. Sets `sha256` to the digest of the raw
 * bytes. Replaces an existing file at `path` only when the new VHD is complete. */
int vhd_file_make(const char *raw, const char *path, char sha256[FILE_DIGEST_TEXT],
		  struct error *err);
/* Checks that the file is a fixed VHD. Sets `sha256` to the digest of the disk's contents, unless
 * `sha256` is NULL. */
int vhd_file_check(const char *path, char sha256[FILE_DIGEST_TEXT], struct error *err);
/* Checks that the file is a fixed VHD or a VHDX ([MS-VHDX], 2.2.1), by the extension of its name
 * and by its contents. */
int vhd_file_check_disk(const char *path, struct error *err);

#endif
