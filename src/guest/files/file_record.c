/* SPDX-License-Identifier: MIT */
#include "guest/files/file_record.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/frame.h"

#define NAME_LENGTH 2
#define NUMBERS (8 + 4 + 8)

int file_record_put(struct buf *to, const char *name, const struct stat *st, struct error *err)
{
	size_t len = strlen(name);
	uint8_t head[NAME_LENGTH + NUMBERS];

	if (len == 0 || len > UINT16_MAX)
		return error_set(
			err, ERR_INVALID,
			"a file of the guest has a name of %zu bytes, and only names of 1 to 65535 bytes can be listed: rename this file",
			len);
	head[0] = (uint8_t)(len >> 8);
	head[1] = (uint8_t)len;
	be64_put(head + 2, (uint64_t)st->st_size);
	be32_put(head + 10, st->st_mode);
	be64_put(head + 14, (uint64_t)st->st_mtim.tv_sec);
	/* Reserves memory for the whole record first, so that a failure leaves no part of a record
	 * in the buffer. */
	if (!buf_reserve(to, sizeof(head) + len, err))
		return -1;
	buf_append(to, head, sizeof(head), NULL);
	buf_append(to, name, len, NULL);
	return 0;
}

int file_record_put_more(struct buf *to, struct error *err)
{
	return buf_append(to, "\0\0", NAME_LENGTH, err);
}

int file_record_take(const uint8_t **bytes, size_t *left, struct file_record *out)
{
	const uint8_t *at = *bytes;
	size_t len, whole;

	if (*left < NAME_LENGTH)
		return 0;
	len = (size_t)at[0] << 8 | at[1];
	whole = len ? NAME_LENGTH + NUMBERS + len : NAME_LENGTH;
	if (*left < whole)
		return 0;
	*out = (struct file_record){.len = (uint16_t)len};
	if (len)
		*out = (struct file_record){
			.name = at + NAME_LENGTH + NUMBERS,
			.len = (uint16_t)len,
			.size = be64_get(at + 2),
			.mode = be32_get(at + 10),
			.modified = (int64_t)be64_get(at + 14),
		};
	*bytes += whole;
	*left -= whole;
	return 1;
}

uint32_t file_mode_of_go(uint32_t mode)
{
	static const struct {
		uint32_t kind, bits;
	} kinds[] = {
		{S_IFDIR, GO_MODE_DIR}, {S_IFLNK, 1u << 27},  {S_IFBLK, 1u << 26},
		{S_IFIFO, 1u << 25},	{S_IFSOCK, 1u << 24}, {S_IFCHR, 1u << 26 | 1u << 21},
	};
	uint32_t bits = mode & 0777;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if ((mode & S_IFMT) == kinds[i].kind)
			bits |= kinds[i].bits;
	return bits | (mode & S_ISUID ? 1u << 23 : 0) | (mode & S_ISGID ? 1u << 22 : 0) |
	       (mode & S_ISVTX ? 1u << 20 : 0);
}
