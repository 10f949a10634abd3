/* SPDX-License-Identifier: MIT */
/* Virtual hard disks as files. */
#ifndef HYPERV_VHD_FILE_H
#define HYPERV_VHD_FILE_H

#include "hyperv/windows/file.h"

/* A fixed VHD at path, of a raw disk; sha256: of the raw bytes. What was there is replaced, when
 * all of it is. */
int vhd_file_make(const char *raw, const char *path, char sha256[FILE_DIGEST_TEXT],
		  struct error *err);
/* That it is a fixed VHD; sha256 (may be NULL): of the disk in it. */
int vhd_file_check(const char *path, char sha256[FILE_DIGEST_TEXT], struct error *err);
/* That it is a fixed VHD, or a VHDX ([MS-VHDX], 2.2.1), by its name's end and its contents. */
int vhd_file_check_disk(const char *path, struct error *err);

#endif
