/* SPDX-License-Identifier: MIT */
#include "base/cpio_search.h"

#include <stdbool.h>
#include <string.h>

/* The layout of the newc format: the magic, 13 numbers of 8 hex digits, the name and the contents.
 * The name and the contents are each padded to a multiple of 4 bytes. */
enum { HEADER = 110, MAGIC = 6, DIGITS = 8, FIELD_MODE = 1, FIELD_SIZE = 6, FIELD_NAME_SIZE = 11 };
#define NAME_ROOM 256

#define MODE_KIND 0170000u
#define MODE_FILE 0100000u

/* The archive that is searched. */
struct archive {
	cpio_read_fn *read;
	void *file;
};

struct entry {
	uint64_t mode, size, name_size;
	char name[NAME_ROOM]; /* the name of the entry; "" if the name does not fit: no caller
			       * searches for such a long name */
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
	return error_set(
		err, ERR_INVALID,
		"the initrd is damaged, because it ends in the middle of an entry: make it again");
}

/* Reads the entry at the offset `at`. Returns 1 if there is an entry, 0 if there is none, -1 with
 * an error on failure. */
static int read_entry(const struct archive *in, uint64_t at, struct entry *out, struct error *err)
{
	char header[HEADER];
	int64_t n = in->read(in->file, at, header, HEADER, err);

	if (n < 0)
		return -1;
	if (n >= MAGIC && n < HEADER && is_header(header))
		return ends_too_early(err);
	if (n < HEADER || !is_header(header) || !parse_field(header, FIELD_MODE, &out->mode) ||
	    !parse_field(header, FIELD_SIZE, &out->size) ||
	    !parse_field(header, FIELD_NAME_SIZE, &out->name_size))
		return 0;
	out->name[0] = '\0';
	if (out->name_size == 0 || out->name_size > NAME_ROOM)
		return 1;
	n = in->read(in->file, at + HEADER, out->name, (size_t)out->name_size, err);
	if (n < 0)
		return -1;
	if (n < (int64_t)out->name_size)
		return ends_too_early(err);
	out->name[out->name_size - 1] = '\0';
	return 1;
}

/* Skips the zeros between two archives, however many there are. Returns the offset of the next
 * archive, or of the end of the file. */
static uint64_t skip_zeroes(const struct archive *in, uint64_t at)
{
	char block[4096];
	struct error ignored;
	int64_t n;

	while ((n = in->read(in->file, at, block, sizeof(block), &ignored)) > 0) {
		for (int64_t i = 0; i < n; i++)
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

int cpio_search(cpio_read_fn *read, void *file, const char *name, uint64_t *at, uint64_t *size,
		struct error *err)
{
	const struct archive in = {read, file};
	struct entry entry;
	uint64_t here = 0, found_at = 0, found_size = 0;
	bool found = false;
	int got;

	while ((got = read_entry(&in, here, &entry, err)) > 0) {
		uint64_t data = pad(here + HEADER + entry.name_size);
		int64_t n = 1;
		char last;

		if (entry.size > 0)
			n = read(file, data + entry.size - 1, &last, 1, err);
		if (n != 1)
			return n < 0 ? -1 : ends_too_early(err);
		if ((entry.mode & MODE_KIND) == MODE_FILE && strcmp(entry.name, name) == 0) {
			found_at = data;
			found_size = entry.size;
			found = true;
		}
		here = pad(data + entry.size);
		if (strcmp(entry.name, "TRAILER!!!") == 0)
			here = skip_zeroes(&in, here);
	}
	if (got < 0)
		return -1;
	if (!found)
		return error_set(err, ERR_NOT_FOUND, "the initrd has no file %s", name);
	*at = found_at;
	*size = found_size;
	return 0;
}
