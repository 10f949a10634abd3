/* SPDX-License-Identifier: MIT */
/*
 * Functions for fixed virtual hard disks (VHD). Such a file has the raw bytes of a disk, and then a
 * footer of 512 bytes. The format is from the "Virtual Hard Disk Image Format Specification"
 * (Microsoft, 2006, under the Open Specification Promise), "Hard Disk Footer Format" and the
 * appendix "CHS Calculation". The functions have no side effects.
 */
#ifndef HYPERV_VHD_H
#define HYPERV_VHD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

#define VHD_FOOTER 512
#define VHD_SECTOR 512
/* The size in bytes of the largest disk that programs accept in this format. */
#define VHD_MAX (UINT64_C(2040) << 30)

/* Makes the footer of a disk. `bytes` is the size of the disk without the footer. `made_at` is the
 * time of the disk's creation, in seconds since 1970. Fails with ERR_INVALID if the size is 0, is
 * too large, or is not a multiple of the sector size. */
int vhd_footer(uint64_t bytes, int64_t made_at, const struct guid *id, uint8_t out[VHD_FOOTER],
	       struct error *err);
/* Checks that a file is a fixed VHD. `footer` has the last bytes of the file, and `file_bytes` is
 * the file's length. Sets *bytes to the size of the disk in bytes. Fails with ERR_INVALID and a
 * message that says what is wrong. */
int vhd_check(const uint8_t footer[VHD_FOOTER], uint64_t file_bytes, uint64_t *bytes,
	      struct error *err);

#endif
