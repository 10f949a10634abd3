/* SPDX-License-Identifier: MIT */
#include "artifact/deb.h"

#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "artifact/reader.h"
#include "artifact/tar.h"
#include "base/cleanup.h"
#include "base/limits.h"
#include "base/path.h"

#define CONTROL_BYTES (1u << 20)
#define NAME_BYTES 128
#define PATH_BYTES 1024

void deb_free(struct deb *deb)
{
	free(deb->package);
	free(deb->version);
	free(deb->file);
	memset(deb, 0, sizeof(*deb));
}

char *deb_field(const char *text, const char *key, struct error *err)
{
	size_t len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) != 0)
			continue;
		char *value = strndup(line + len, strcspn(line + len, "\n"));
		if (!value)
			error_errno(err, ENOMEM, "%s", key);
		return value;
	}
	error_set(err, ERR_NOT_FOUND,
		  "fetch the package again, because its description is damaged: it has no line %s",
		  key);
	return NULL;
}

bool deb_is_plain_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789.+-~:_";
	size_t len = strlen(name);

	return len > 0 && len <= NAME_BYTES && strspn(name, allowed) == len && name[0] != '-' &&
	       name[0] != '.';
}

/* --- the ar archive -------------------------------------------------------------------------- */

/* The format of ar(5). A file begins with AR_MAGIC. After that come its members, each at an even
 * offset. A member begins with a header of AR_HEADER bytes. The header begins with the member's
 * name, and has the member's size at AR_SIZE_AT, in digits followed by blanks. */
#define AR_MAGIC "!<arch>\n"
enum { AR_HEADER = 60, AR_NAME = 16, AR_SIZE_AT = 48, AR_SIZE = 10, AR_MEMBERS_MAX = 16 };

static bool parse_size(const char *field, uint64_t *out)
{
	size_t digits = 0;

	*out = 0;
	while (digits < AR_SIZE && field[digits] >= '0' && field[digits] <= '9')
		*out = *out * 10 + (uint64_t)(field[digits++] - '0');
	for (size_t i = digits; i < AR_SIZE; i++)
		if (field[i] != ' ')
			return false;
	return digits > 0;
}

static bool read_whole(int fd, char *bytes, size_t len, uint64_t at)
{
	return pread(fd, bytes, len, (off_t)at) == (ssize_t)len;
}

/* Moves the offset of `fd` to the first byte of the member whose name begins with `name`, and sets
 * *size to the member's length in bytes. */
static int seek_member(int fd, const char *name, uint64_t *size, struct error *err)
{
	char magic[sizeof(AR_MAGIC) - 1], header[AR_HEADER];
	uint64_t at = sizeof(magic), bytes;

	if (!read_whole(fd, magic, sizeof(magic), 0) || memcmp(magic, AR_MAGIC, sizeof(magic)) != 0)
		return error_set(err, ERR_INVALID,
				 "the file is not a Debian package: give a .deb file");
	for (int i = 0; i < AR_MEMBERS_MAX && read_whole(fd, header, AR_HEADER, at); i++) {
		at += AR_HEADER;
		if (!parse_size(header + AR_SIZE_AT, &bytes))
			return error_set(
				err, ERR_INVALID,
				"the package is damaged, because one of its members has no size: fetch it again");
		if (strncmp(header, name, strlen(name)) == 0) {
			if (lseek(fd, (off_t)at, SEEK_SET) < 0)
				return error_errno(err, errno, "%s", name);
			*size = bytes;
			return 0;
		}
		at += bytes + (bytes & 1);
	}
	return error_set(err, ERR_INVALID,
			 "the file is not a Debian package, because it has no %s: give a .deb file",
			 name);
}

static int open_member(struct tar_reading *tar, struct tar_bound *bound, int fd, const char *name,
		       struct error *err)
{
	uint64_t size = 0;

	*bound = tar_bound_of(limit_get(LIMIT_PACKAGE_BYTES), limit_get(LIMIT_PACKAGE_FILES));
	if (seek_member(fd, name, &size, err) < 0)
		return -1;
	return tar_open_bounded(tar, fd, size, bound, err) < 0 ? error_prefix(err, "%s", name) : 0;
}

/* --- files of the package -------------------------------------------------------------------- */

struct unpacking_deb {
	struct tar_reading *tar;
	int dir;
	const char *const *names;
	struct tar_files files;
};

/* Returns the path of an entry without "./" and "usr/" at its beginning: "lib/x" for "./usr/lib/x"
 * and for "lib/x". */
static const char *plain_path(const char *name)
{
	static const char *const before[] = {"./", "usr/"};

	for (size_t i = 0; i < ARRAY_SIZE(before); i++)
		if (strncmp(name, before[i], strlen(before[i])) == 0)
			name += strlen(before[i]);
	return name;
}

static bool is_wanted(const struct unpacking_deb *u, struct archive_entry *entry, const char *path)
{
	if (archive_entry_filetype(entry) != AE_IFREG || archive_entry_hardlink(entry))
		return false;
	for (size_t i = 0; u->names[i]; i++)
		if (strncmp(path, u->names[i], strlen(u->names[i])) == 0)
			return true;
	return false;
}

/* Returns true if no component of the path is empty, "." or "..". */
static bool stays_below(const char *path)
{
	for (const char *at = path;; at++) {
		size_t len = strcspn(at, "/");

		if (len == 0 || (len <= 2 && strspn(at, ".") >= len))
			return false;
		at += len;
		if (!*at)
			return true;
	}
}

static int unpack_file(struct unpacking_deb *u, struct archive_entry *entry, const char *path,
		       struct error *err)
{
	const int64_t size = archive_entry_size(entry);
	char parent[PATH_BYTES];
	autoclose int fd = -1;

	if (strlen(path) >= PATH_BYTES || !stays_below(path))
		return error_set(
			err, ERR_INVALID,
			"the path leads out of the package, or is too long: the package is damaged, or is made to attack its reader");
	if (tar_admit(&u->files, size, err) < 0)
		return -1;
	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
		if (mkdirat(u->dir, parent, 0755) < 0 && errno != EEXIST)
			return error_errno(err, errno, "unpacking");
	}
	fd = openat(u->dir, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0 && (errno == EEXIST || errno == ENOTDIR))
		return error_set(
			err, ERR_INVALID,
			"the package has two different files at this path: it is damaged, or is made to attack its reader");
	if (fd < 0)
		return error_errno(err, errno, "unpacking");
	return tar_copy_data(u->tar, fd, size, err);
}

int deb_unpack_here(int fd, int dir, const char *const *names, struct error *err)
{
	auto_tar struct tar_reading tar = {0};
	struct unpacking_deb u = {.tar = &tar,
				  .dir = dir,
				  .names = names,
				  .files = {.most_bytes = limit_get(LIMIT_PACKAGE_BYTES),
					    .most_count = limit_get(LIMIT_PACKAGE_FILES)}};
	struct archive_entry *entry;
	struct tar_bound bound;
	int got;

	if (open_member(&tar, &bound, fd, "data.tar", err) < 0)
		return -1;
	while ((got = archive_read_next_header(tar.archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *name = archive_entry_pathname(entry);
		const char *path = name ? plain_path(name) : "";

		if (artifact_check_signal(err) < 0)
			return -1;
		if (is_wanted(&u, entry, path) && unpack_file(&u, entry, path, err) < 0)
			return error_prefix(err, "\"%.300s\"", name);
	}
	return got == ARCHIVE_EOF ? 0 : tar_failed(&tar, err);
}

/* --- unpacking in a reader ------------------------------------------------------------------- */

struct reading_deb {
	int fd, dir;
	const char *const *names;
};

static int read_deb_control(void *data, struct buf *out, struct error *err)
{
	const struct reading_deb *r = data;
	auto_tar struct tar_reading tar = {0};
	struct tar_bound bound;

	if (open_member(&tar, &bound, r->fd, "control.tar", err) < 0)
		return -1;
	return tar_take(&tar, "control", out, err) < 0 ? error_prefix(err, "control.tar") : 0;
}

static int unpack_deb_files(void *data, struct buf *out, struct error *err)
{
	const struct reading_deb *r = data;

	(void)out;
	return deb_unpack_here(r->fd, r->dir, r->names, err);
}

static int read_deb(int fd, const char *file, struct deb *deb, struct error *err)
{
	autobuf struct buf control = BUF_INIT(CONTROL_BYTES);
	struct reading_deb reading = {.fd = fd};
	const struct reader_work work = {
		.read = read_deb_control, .data = &reading, .from = fd, .dir = -1};
	autofree char *architecture = NULL;

	if (digest_fd(fd, deb->sha256, err) < 0 || reader_run(&work, &control, err) < 0)
		return -1;
	deb->package = deb_field(buf_string(&control), "Package: ", err);
	deb->version = deb->package ? deb_field(buf_string(&control), "Version: ", err) : NULL;
	architecture = deb->version ? deb_field(buf_string(&control), "Architecture: ", err) : NULL;
	if (!architecture)
		return -1;
	if (!deb_is_plain_name(deb->package) || !deb_is_plain_name(deb->version))
		return error_set(
			err, ERR_INVALID,
			"the package's name or version is malformed, so the package is damaged or not from Debian: fetch it again");
	deb->architecture = architecture_from_name(architecture);
	deb->file = path_absolute(file, err);
	return deb->file ? 0 : -1;
}

int deb_open(const char *file, struct deb *out, struct error *err)
{
	autoclose int fd = path_open_file(file, err);
	struct deb deb = {0};

	if (fd < 0)
		return -1;
	if (read_deb(fd, file, &deb, err) < 0) {
		deb_free(&deb);
		return error_prefix(err, "%s", file);
	}
	*out = deb;
	return 0;
}

/* Copies the package to a file in `dir`, and removes the name of the file, so that no other process
 * can open the copy and change it. */
static int copy_package(const struct deb *deb, int dir, struct error *err)
{
	static const char name[] = ".package";
	autoclose int from = path_open_file(deb->file, err);
	char found[DIGEST_TEXT];
	autoclose int copy = -1;

	if (from < 0)
		return -1;
	copy = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (copy < 0 || unlinkat(dir, name, 0) < 0)
		return error_errno(err, errno, "unpacking");
	if (path_clone_data(from, copy, NULL, err) < 0 || digest_fd(copy, found, err) < 0)
		return -1;
	if (strcmp(found, deb->sha256) != 0)
		return error_set(
			err, ERR_CONFLICT,
			"%s: the package has changed since it was first read: its SHA-256 is %s and was %s; try again",
			deb->file, found, deb->sha256);
	return steal_fd(&copy);
}

int deb_unpack(const struct deb *deb, int dir, const char *const *names, struct error *err)
{
	autoclose int fd = copy_package(deb, dir, err);
	struct reading_deb reading = {.fd = fd, .dir = dir, .names = names};
	const struct reader_work work = {
		.read = unpack_deb_files, .data = &reading, .from = fd, .dir = dir};

	if (fd < 0)
		return -1;
	progress_stage("unpacking %s", deb->package);
	return reader_run(&work, NULL, err) < 0 ? error_prefix(err, "%s", deb->file) : 0;
}
