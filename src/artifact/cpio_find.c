/* SPDX-License-Identifier: MIT */
#include "artifact/cpio_find.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* newc: the magic, then 13 numbers of 8 hex digits; the name follows, then the contents, each
 * padded to a multiple of 4. */
enum { HEADER = 110, MAGIC = 6, DIGITS = 8, FIELD_MODE = 1, FIELD_SIZE = 6, FIELD_NAME_SIZE = 11 };
#define NAME_ROOM 256

struct entry {
	uint64_t mode, size, name_size;
	char name[NAME_ROOM]; /* "" when it is longer than any that is looked for */
};

static bool parse_field(const char *header, int field, uint64_t *out)
{
	const char *text = header + MAGIC + (size_t)field * DIGITS;

	*out = 0;
	for (int i = 0; i < DIGITS; i++) {
		static const char digits[] = "0123456789abcdef";
		char c = text[i] >= 'A' && text[i] <= 'F' ? (char)(text[i] + 32) : text[i];
		const char *digit = c ? strchr(digits, c) : NULL;

		if (!digit)
			return false;
		*out = *out << 4 | (uint64_t)(digit - digits);
	}
	return true;
}

static bool is_header(const char *bytes)
{
	return memcmp(bytes, "070701", MAGIC) == 0 || memcmp(bytes, "070702", MAGIC) == 0;
}

static int ends_too_early(struct error *err)
{
	return error_set(err, ERR_INVALID, "it ends within an entry");
}

/* 1: an entry; 0: none. */
static int read_entry(int fd, uint64_t at, struct entry *out, struct error *err)
{
	char header[HEADER];
	ssize_t n = pread(fd, header, HEADER, (off_t)at);

	if (n < 0)
		return error_errno(err, errno, "read");
	if (n >= MAGIC && n < HEADER && is_header(header))
		return ends_too_early(err);
	if (n < HEADER || !is_header(header) || !parse_field(header, FIELD_MODE, &out->mode) ||
	    !parse_field(header, FIELD_SIZE, &out->size) ||
	    !parse_field(header, FIELD_NAME_SIZE, &out->name_size))
		return 0;
	out->name[0] = '\0';
	if (out->name_size == 0 || out->name_size > NAME_ROOM)
		return 1;
	n = pread(fd, out->name, (size_t)out->name_size, (off_t)(at + HEADER));
	if (n < 0)
		return error_errno(err, errno, "read");
	if (n < (ssize_t)out->name_size)
		return ends_too_early(err);
	out->name[out->name_size - 1] = '\0';
	return 1;
}

/* Archives are padded with zeroes, to 512 bytes or to anything. */
static uint64_t skip_zeroes(int fd, uint64_t at)
{
	char block[4096];
	ssize_t n;

	while ((n = pread(fd, block, sizeof(block), (off_t)at)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			if (block[i])
				return (at + (uint64_t)i) & ~(uint64_t)3;
		at += (uint64_t)n;
	}
	return at;
}

static uint64_t pad(uint64_t at)
{
	return (at + 3) & ~(uint64_t)3;
}

/* Of what is no regular file the end is not known. */
static int file_end(int fd, uint64_t *out, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "cannot be examined");
	*out = S_ISREG(st.st_mode) ? (uint64_t)st.st_size : UINT64_MAX;
	return 0;
}

int cpio_find(int fd, const char *name, uint64_t *at, uint64_t *size, struct error *err)
{
	struct entry entry;
	uint64_t here = 0, end = 0, found_at = 0, found_size = 0;
	bool found = false;
	int got;

	if (file_end(fd, &end, err) < 0)
		return -1;
	while ((got = read_entry(fd, here, &entry, err)) > 0) {
		uint64_t data = pad(here + HEADER + entry.name_size);

		if (entry.size && data + entry.size > end)
			return ends_too_early(err);
		if (S_ISREG((mode_t)entry.mode) && strcmp(entry.name, name) == 0) {
			found_at = data;
			found_size = entry.size;
			found = true;
		}
		here = pad(data + entry.size);
		if (strcmp(entry.name, "TRAILER!!!") == 0)
			here = skip_zeroes(fd, here);
	}
	if (got < 0)
		return -1;
	if (!found)
		return error_set(err, ERR_NOT_FOUND, "there is no %s in it", name);
	*at = found_at;
	*size = found_size;
	return 0;
}
