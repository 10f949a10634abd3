/* SPDX-License-Identifier: MIT */
#include "hyperv/machine/vhd.h"

#include <inttypes.h>
#include <string.h>

#include "base/frame.h"

/* The offsets of the footer's fields, in bytes. All numbers are big-endian. */
enum {
	AT_COOKIE = 0,
	AT_FEATURES = 8,
	AT_VERSION = 12,
	AT_DATA_OFFSET = 16,
	AT_TIME = 24,
	AT_CREATOR = 28,
	AT_CREATOR_VERSION = 32,
	AT_CREATOR_HOST = 36,
	AT_ORIGINAL_SIZE = 40,
	AT_CURRENT_SIZE = 48,
	AT_GEOMETRY = 56,
	AT_TYPE = 60,
	AT_CHECKSUM = 64,
	AT_ID = 68,
};

/* The values of two fields of the footer, without a NUL. */
static const char vhd_cookie[8] = {'c', 'o', 'n', 'e', 'c', 't', 'i', 'x'};
static const char vhd_creator[4] = {'m', 'a', 'g', 'o'};

#define FEATURE_RESERVED 2u /* a bit that must be 1, by the specification */
#define VERSION_1_0 0x00010000u
#define NO_OFFSET UINT64_MAX /* the value of the field "data offset" for a fixed disk */
#define TYPE_FIXED 2u
#define HOST_WINDOWS 0x5769326bu /* "Wi2k" as a number */
/* 2000-01-01 in seconds since 1970. A VHD counts times from this date. */
#define EPOCH_2000 INT64_C(946684800)

/* Returns the checksum as the appendix of the specification defines it: the one's complement of the
 * sum of all bytes of the footer except those of the checksum. */
static uint32_t vhd_checksum(const uint8_t footer[VHD_FOOTER])
{
	uint32_t sum = 0;

	for (int i = 0; i < VHD_FOOTER; i++)
		if (i < AT_CHECKSUM || i >= AT_CHECKSUM + 4)
			sum += footer[i];
	return ~sum;
}

struct geometry {
	uint32_t cylinders, heads, sectors;
};

/* Returns the geometry (cylinders, heads and sectors per track) of a disk with `total` sectors.
 * Uses the calculation in the appendix of the specification. */
static struct geometry vhd_geometry(uint64_t total)
{
	uint64_t most = UINT64_C(65535) * 16 * 255;
	uint32_t sectors, heads, by_heads;

	if (total > most)
		total = most;
	if (total >= UINT64_C(65535) * 16 * 63)
		return (struct geometry){(uint32_t)(total / 255 / 16), 16, 255};
	sectors = 17;
	by_heads = (uint32_t)(total / sectors);
	heads = (by_heads + 1023) / 1024;
	if (heads < 4)
		heads = 4;
	if (by_heads >= heads * 1024 || heads > 16) {
		sectors = 31;
		heads = 16;
		by_heads = (uint32_t)(total / sectors);
	}
	if (by_heads >= heads * 1024) {
		sectors = 63;
		heads = 16;
		by_heads = (uint32_t)(total / sectors);
	}
	return (struct geometry){by_heads / heads, heads, sectors};
}

static void put_vhd_id(uint8_t *at, const struct guid *id)
{
	be32_put(at, id->data1);
	at[4] = (uint8_t)(id->data2 >> 8);
	at[5] = (uint8_t)id->data2;
	at[6] = (uint8_t)(id->data3 >> 8);
	at[7] = (uint8_t)id->data3;
	memcpy(at + 8, id->data4, sizeof(id->data4));
}

int vhd_footer(uint64_t bytes, int64_t made_at, const struct guid *id, uint8_t out[VHD_FOOTER],
	       struct error *err)
{
	uint8_t footer[VHD_FOOTER] = {0};
	struct geometry geometry = vhd_geometry(bytes / VHD_SECTOR);

	if (bytes == 0 || bytes % VHD_SECTOR || bytes > VHD_MAX)
		return error_set(err, ERR_INVALID,
				 "a disk of %" PRIu64
				 " bytes: whole sectors of %d are needed, at most %" PRIu64
				 " bytes of them",
				 bytes, VHD_SECTOR, VHD_MAX);
	memcpy(footer + AT_COOKIE, vhd_cookie, sizeof(vhd_cookie));
	be32_put(footer + AT_FEATURES, FEATURE_RESERVED);
	be32_put(footer + AT_VERSION, VERSION_1_0);
	be64_put(footer + AT_DATA_OFFSET, NO_OFFSET);
	be32_put(footer + AT_TIME, made_at > EPOCH_2000 ? (uint32_t)(made_at - EPOCH_2000) : 0);
	memcpy(footer + AT_CREATOR, vhd_creator, sizeof(vhd_creator));
	be32_put(footer + AT_CREATOR_VERSION, VERSION_1_0);
	be32_put(footer + AT_CREATOR_HOST, HOST_WINDOWS);
	be64_put(footer + AT_ORIGINAL_SIZE, bytes);
	be64_put(footer + AT_CURRENT_SIZE, bytes);
	footer[AT_GEOMETRY] = (uint8_t)(geometry.cylinders >> 8);
	footer[AT_GEOMETRY + 1] = (uint8_t)geometry.cylinders;
	footer[AT_GEOMETRY + 2] = (uint8_t)geometry.heads;
	footer[AT_GEOMETRY + 3] = (uint8_t)geometry.sectors;
	be32_put(footer + AT_TYPE, TYPE_FIXED);
	put_vhd_id(footer + AT_ID, id);
	be32_put(footer + AT_CHECKSUM, vhd_checksum(footer));
	memcpy(out, footer, VHD_FOOTER);
	return 0;
}

int vhd_check(const uint8_t footer[VHD_FOOTER], uint64_t file_bytes, uint64_t *bytes,
	      struct error *err)
{
	if (file_bytes <= VHD_FOOTER ||
	    memcmp(footer + AT_COOKIE, vhd_cookie, sizeof(vhd_cookie)) != 0)
		return error_set(
			err, ERR_INVALID,
			"the file is not a virtual hard disk, because it has no footer of one: name another file");
	if (be32_get(footer + AT_CHECKSUM) != vhd_checksum(footer))
		return error_set(
			err, ERR_INVALID,
			"the file is a damaged virtual hard disk, because the checksum of its footer is wrong: make it again");
	if (be32_get(footer + AT_VERSION) != VERSION_1_0)
		return error_set(
			err, ERR_INVALID,
			"the file is a virtual hard disk of a version that microagent does not know: convert it");
	if (be32_get(footer + AT_TYPE) != TYPE_FIXED)
		return error_set(
			err, ERR_INVALID,
			"the file is a virtual hard disk, but not a fixed one: convert it (Convert-VHD -VHDType Fixed)");
	uint64_t size = be64_get(footer + AT_CURRENT_SIZE);
	if (size != file_bytes - VHD_FOOTER || size % VHD_SECTOR)
		return error_set(err, ERR_INVALID,
				 "the file is a damaged virtual hard disk: its footer says %" PRIu64
				 " bytes, and there are %" PRIu64,
				 size, file_bytes - VHD_FOOTER);
	*bytes = size;
	return 0;
}
