/* SPDX-License-Identifier: MIT */
/* Makes tar archives that no tar would write: the caller gives every field, and the checksum is
 * right. */
#ifndef TAR_ENTRIES_H
#define TAR_ENTRIES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

struct tar_entry {
	char type; /* '0' file, '1' hard link, '2' symbolic link, '5' directory, 'x' pax, ... */
	const char *name, *link; /* at most 100 bytes each are taken */
	unsigned mode, uid, gid;
	const void *data;
	size_t len;
	uint64_t size; /* that the header says */
};

static inline void tar_append(struct buf *out, const void *data, size_t len)
{
	if (buf_append(out, data, len, NULL) < 0)
		abort();
}

static inline void tar_field(char *field, size_t room, const char *text)
{
	if (text)
		memcpy(field, text, strnlen(text, room));
}

/* Uses base 256 where octal digits are not enough. */
static inline void tar_size(char field[12], uint64_t size)
{
	if (size < UINT64_C(1) << 33) {
		char text[16];

		snprintf(text, sizeof(text), "%011llo", (unsigned long long)size);
		memcpy(field, text, 12);
		return;
	}
	for (int i = 11; i > 3; i--, size >>= 8)
		field[i] = (char)(size & 0xff);
	field[0] = (char)0x80;
}

static inline void tar_put(struct buf *out, const struct tar_entry *e)
{
	static const char zeros[512];
	char header[512] = {0};
	unsigned sum = 0;

	tar_field(header, 100, e->name);
	snprintf(header + 100, 8, "%07o", e->mode & 07777);
	snprintf(header + 108, 8, "%07o", e->uid & 07777777);
	snprintf(header + 116, 8, "%07o", e->gid & 07777777);
	tar_size(header + 124, e->size);
	snprintf(header + 136, 12, "%011o", 5000u);
	memset(header + 148, ' ', 8);
	header[156] = e->type;
	tar_field(header + 157, 100, e->link);
	memcpy(header + 257, "ustar\00000", 8);
	for (size_t i = 0; i < sizeof(header); i++)
		sum += (unsigned char)header[i];
	snprintf(header + 148, 8, "%06o", sum);
	tar_append(out, header, sizeof(header));
	tar_append(out, e->data, e->len);
	tar_append(out, zeros, (512 - e->len % 512) % 512);
}

/* Writes one special header of that type, with a comment of so many bytes. */
static inline void tar_put_comment(struct buf *out, char type, size_t bytes)
{
	struct tar_entry entry = {.type = type, .name = "pax", .len = bytes, .size = bytes};
	char *record = malloc(bytes + 1);

	if (!record)
		abort();
	memset(record, 'A', bytes);
	record[snprintf(record, bytes, "%zu comment", bytes)] = '=';
	record[bytes - 1] = '\n';
	entry.data = record;
	tar_put(out, &entry);
	free(record);
}

/* Writes one record of a pax header; value may be any bytes. */
static inline void tar_pax_record(struct buf *out, const char *key, const void *value, size_t len)
{
	size_t all = strlen(key) + len + 3, digits = 1;
	char number[24];

	while (snprintf(number, sizeof(number), "%zu", all + digits) != (int)digits)
		digits++;
	tar_append(out, number, digits);
	tar_append(out, " ", 1);
	tar_append(out, key, strlen(key));
	tar_append(out, "=", 1);
	tar_append(out, value, len);
	tar_append(out, "\n", 1);
}

/* Writes a pax header of one record, for the entry that follows. */
static inline void tar_pax(struct buf *out, const char *key, const void *value, size_t len)
{
	struct buf records = BUF_INIT(0);

	tar_pax_record(&records, key, value, len);
	tar_put(out, &(struct tar_entry){.type = 'x',
					 .name = "pax",
					 .data = buf_bytes(&records),
					 .len = records.len,
					 .size = records.len});
	buf_free(&records);
}

static inline void tar_end(struct buf *out)
{
	static const char zeros[1024];

	tar_append(out, zeros, sizeof(zeros));
}

#endif
