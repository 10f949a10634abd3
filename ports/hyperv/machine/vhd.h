/* SPDX-License-Identifier: MIT */
/*
 * A fixed virtual hard disk (VHD): the raw bytes of a disk with a footer of 512 bytes behind them.
 * The format is from the "Virtual Hard Disk Image Format Specification" (Microsoft, 2006, under the
 * Open Specification Promise), "Hard Disk Footer Format" and the appendix "CHS Calculation". The
 * functions are pure.
 */
#ifndef HYPERV_VHD_H
#define HYPERV_VHD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

#define VHD_FOOTER 512
#define VHD_SECTOR 512
#define VHD_MAX (UINT64_C(2040) << 30) /* the largest disk that users of the format accept */

/* Makes the footer of a disk. `bytes` is the size of the disk without the footer. `made_at` is in
 * seconds since 1970. Returns -1 with ERR_INVALID for a size that is 0, too large, or not a
 * multiple of a sector. */
int vhd_footer(uint64_t bytes, int64_t made_at, const struct guid *id, uint8_t out[VHD_FOOTER],
	       struct error *err);
/* Checks that a file is a fixed VHD. `footer` is the end of the file, and file_bytes is its length.
 * Sets *bytes to the size of the disk. ERR_INVALID says what is wrong. */
int vhd_check(const uint8_t footer[VHD_FOOTER], uint64_t file_bytes, uint64_t *bytes,
	      struct error *err);

#endif
