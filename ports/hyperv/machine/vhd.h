/* SPDX-License-Identifier: MIT */
/*
 * A fixed virtual hard disk: the raw bytes and a footer of 512 behind them. "Virtual Hard Disk
 * Image Format Specification" (Microsoft, 2006, under the Open Specification Promise), "Hard Disk
 * Footer Format" and the appendix "CHS Calculation". Pure.
 */
#ifndef HYPERV_VHD_H
#define HYPERV_VHD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "hyperv/machine/guid.h"

#define VHD_FOOTER 512
#define VHD_SECTOR 512
#define VHD_MAX (UINT64_C(2040) << 30) /* what the format's users take */

/* bytes: of the disk, without the footer; made_at: seconds since 1970. ERR_INVALID for a size that
 * is no whole number of sectors, nothing, or too large. */
int vhd_footer(uint64_t bytes, int64_t made_at, const struct guid *id, uint8_t out[VHD_FOOTER],
	       struct error *err);
/* Whether these, the last bytes of a file of that length, make it a fixed VHD. *bytes: of its disk.
 * ERR_INVALID says what is wrong. */
int vhd_check(const uint8_t footer[VHD_FOOTER], uint64_t file_bytes, uint64_t *bytes,
	      struct error *err);

#endif
