/* SPDX-License-Identifier: MIT */
/* Makes and checks virtual hard disks in files. */
#ifndef HYPERV_VHD_FILE_H
#define HYPERV_VHD_FILE_H

#include "hyperv/windows/file.h"

/* Makes a fixed VHD at `path` from a raw disk. `sha256` gets the digest of the raw bytes. A file at
 * `path` is replaced only when the new VHD is complete. */
int vhd_file_make(const char *raw, const char *path, char sha256[FILE_DIGEST_TEXT],
		  struct error *err);
/* Checks that the file is a fixed VHD. `sha256`, which may be NULL, gets the digest of the disk in
 * the file. */
int vhd_file_check(const char *path, char sha256[FILE_DIGEST_TEXT], struct error *err);
/* Checks that the file is a fixed VHD or a VHDX ([MS-VHDX], 2.2.1), by the end of its name and by
 * its contents. */
int vhd_file_check_disk(const char *path, struct error *err);

#endif
