/* SPDX-License-Identifier: MIT */
#include "store/linux/mountinfo_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"

#define TEXT_BYTES (16u << 20)
#define MNT_ID "mnt_id:"

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Decodes a path in place. In the encoded path, blank, tab, newline and backslash are written as
 * three octal digits. */
static void unescape_mount(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (from[0] == '\\' && is_octal(from[1]) && is_octal(from[2]) &&
		    is_octal(from[3])) {
			*to = (char)((unsigned)(from[1] - '0') << 6 |
				     (unsigned)(from[2] - '0') << 3 | (unsigned)(from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* Returns the device of a text like "98:0" as one number, or -1 on failure. */
static long device_of(const char *text)
{
	char *end, *last;
	unsigned long major = strtoul(text, &end, 10);

	if (end == text || *end != ':')
		return -1;
	unsigned long minor = strtoul(end + 1, &last, 10);
	return last == end + 1 || *last || major > UINT16_MAX || minor > 0xfffff
		       ? -1
		       : (long)(major << 20 | minor);
}

/* Parses a line like "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw". Uses its
 * first five fields, and the type of the file system after the single dash. */
static int parse_mount(char *line, struct mount_row *row, struct error *err)
{
	char *rest = NULL, *fields[5], *type;
	long device;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		fields[i] = strtok_r(i ? NULL : line, " ", &rest);
		if (!fields[i])
			return 0;
	}
	device = device_of(fields[2]);
	do
		type = strtok_r(NULL, " ", &rest);
	while (type && strcmp(type, "-") != 0);
	type = type ? strtok_r(NULL, " ", &rest) : NULL;
	if (device < 0 || !type)
		return 0;
	unescape_mount(fields[3]);
	unescape_mount(fields[4]);
	*row = (struct mount_row){.id = (unsigned)strtoul(fields[0], NULL, 10),
				  .device = (unsigned long)device,
				  .root = strdup(fields[3]),
				  .point = strdup(fields[4]),
				  .type = strdup(type)};
	if (row->root && row->point && row->type)
		return 1;
	mountinfo_free_row(row);
	return error_errno(err, ENOMEM, "mounts");
}

int mountinfo_parse(char *text, struct mountinfo *out, struct error *err)
{
	struct mountinfo mounts = {0};
	char *rest = NULL;
	size_t lines = 1;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	mounts.rows = calloc(lines, sizeof(*mounts.rows));
	if (!mounts.rows)
		return error_errno(err, ENOMEM, "mounts");
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		int got = parse_mount(line, &mounts.rows[mounts.count], err);

		if (got < 0) {
			mountinfo_free(&mounts);
			return -1;
		}
		mounts.count += (size_t)got;
	}
	*out = mounts;
	return 0;
}

int mountinfo_read(struct mountinfo *out, struct error *err)
{
	autobuf struct buf text = BUF_INIT(TEXT_BYTES);
	autofree char *copy = NULL;

	if (path_read_file_at(AT_FDCWD, "/proc/thread-self/mountinfo", &text, err) < 0)
		return -1;
	copy = strndup((const char *)buf_bytes(&text), text.len);
	if (!copy)
		return error_errno(err, ENOMEM, "mounts");
	return mountinfo_parse(copy, out, err);
}

const struct mount_row *mountinfo_of(const struct mountinfo *mounts, int fd, struct error *err)
{
	char path[48], line[128];
	bool found = false;
	unsigned id = 0;

	snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", fd);
	autofile FILE *file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file)) {
		found = strncmp(line, MNT_ID, strlen(MNT_ID)) == 0;
		if (found)
			id = (unsigned)strtoul(line + strlen(MNT_ID), NULL, 10);
	}
	if (!found) {
		error_set(
			err, ERR_IO,
			"it is not known on which mount the file lies, because %s has no line about it: try again",
			path);
		return NULL;
	}
	for (size_t i = 0; i < mounts->count; i++)
		if (mounts->rows[i].id == id)
			return &mounts->rows[i];
	error_set(
		err, ERR_IO,
		"it is not known on which mount the file lies, because /proc/thread-self/mountinfo has no line for mount %u: the mount was removed meanwhile, so try again",
		id);
	return NULL;
}

char *mountinfo_inner(const struct mount_row *row, const char *path, struct error *err)
{
	size_t len = strcmp(row->point, "/") == 0 ? 0 : strlen(row->point);
	const char *root = strcmp(row->root, "/") == 0 ? "" : row->root;
	const char *below = strlen(path) > len ? path + len : "";
	char *inner;

	if (strcmp(below, "/") == 0)
		below = "";
	if (asprintf(&inner, "%s%s%s", root, below, *root || *below ? "" : "/") < 0) {
		error_errno(err, ENOMEM, "mounts");
		return NULL;
	}
	return inner;
}
