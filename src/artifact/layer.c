/* SPDX-License-Identifier: MIT */
#include "artifact/layer.h"

#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "artifact/tar.h"
#include "base/cleanup.h"
#include "base/limits.h"

/* Names by which a layer marks files as deleted. A file ".wh.NAME" hides NAME of the lower layers.
 * A file ".wh..wh..opq" hides all files that the lower layers have in the same directory. */
#define HIDE ".wh."
#define HIDE_ALL ".wh..wh..opq"
#define BLOCK UINT64_C(4096) /* the least space in bytes that a file uses on a disk */
/* the largest size in bytes of all attributes of a file; ext4 has them in one block */
#define XATTR_BYTES 4096
#define XATTR_NAME_BYTES 255
/* the latest time that ext4 can store, in seconds since 1970 */
#define TIME_MAX ((INT64_C(1) << 34) - (INT64_C(1) << 31) - 1)
#define NSEC_MAX 999999999

/* The state while an archive is being unpacked. */
struct taking {
	struct rootfs *fs;
	struct tar_reading *from;
	struct tar_files *alone; /* the bounds for an archive that is not a layer of an image; NULL:
				  * the archive is a layer */
	uint64_t done, total;	 /* numbers of bytes for the progress line; total is 0 if it is not
				  * known */
};

static int take_entry_data(const struct taking *t, struct archive_entry *entry,
			   struct rootfs_file *file, struct error *err)
{
	la_int64_t size = archive_entry_size(entry);
	autoclose int fd = -1;

	if (size < 0)
		return error_set(
			err, ERR_INVALID,
			"the archive is damaged, because it has a file of a negative size: fetch or make it again");
	fd = rootfs_open_data(t->fs, file, (uint64_t)size, err);
	return fd < 0 ? -1 : tar_copy_data(t->from, fd, size, err);
}

/* Returns true if ext4 can store the attribute: its name begins with one of these name spaces and
 * continues with any bytes, or it is one of the two names below. */
static bool is_kept_xattr(const char *name)
{
	static const char *const spaces[] = {"user.", "trusted.", "security."};

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
			return name[strlen(spaces[i])] != '\0';
	return strcmp(name, "system.posix_acl_access") == 0 ||
	       strcmp(name, "system.posix_acl_default") == 0;
}

static int take_xattrs(struct archive_entry *entry, struct rootfs_file *file, struct error *err)
{
	size_t len, all = 0;
	const char *name;
	const void *value;

	archive_entry_xattr_reset(entry);
	while (archive_entry_xattr_next(entry, &name, &value, &len) == ARCHIVE_OK) {
		if (!name || !is_kept_xattr(name))
			continue;
		if (strlen(name) > XATTR_NAME_BYTES)
			return error_set(
				err, ERR_INVALID,
				"the archive has a file with an extended attribute whose name is longer than %d bytes: make the archive without it",
				XATTR_NAME_BYTES);
		all += strlen(name) + len;
		if (all > XATTR_BYTES)
			return error_set(
				err, ERR_INVALID,
				"the archive has a file whose extended attributes have more than %d bytes together: make the archive with fewer",
				XATTR_BYTES);
		struct rootfs_xattr *more =
			reallocarray(file->xattrs, file->xattr_count + 1, sizeof(*file->xattrs));
		if (!more)
			return error_errno(err, ENOMEM, "image");
		file->xattrs = more;
		more += file->xattr_count++;
		*more = (struct rootfs_xattr){
			.name = strdup(name), .value = malloc(len + 1), .len = len};
		if (!more->name || !more->value)
			return error_errno(err, ENOMEM, "image");
		memcpy(more->value, len ? value : "", len);
	}
	return 0;
}

static int64_t clamp(int64_t value, int64_t max)
{
	return value < 0 ? 0 : value > max ? max : value;
}

static int describe_entry(const struct taking *t, struct archive_entry *entry,
			  struct rootfs_file *file, struct error *err)
{
	la_int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);
	const char *target = archive_entry_symlink(entry);

	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
		return error_set(
			err, ERR_INVALID,
			"the archive is damaged, because the owner of a file in it is not a valid user or group: fetch or make it again");
	file->uid = (uid_t)uid;
	file->gid = (gid_t)gid;
	file->time = clamp(archive_entry_mtime(entry), TIME_MAX);
	file->nsec = (uint32_t)clamp(archive_entry_mtime_nsec(entry), NSEC_MAX);
	if (S_ISLNK(file->mode)) {
		if (!target || !*target || strlen(target) > ROOTFS_PATH_MAX)
			return error_set(
				err, ERR_INVALID,
				"the archive is damaged, because it has a link whose target is empty or too long: fetch or make it again");
		file->mode = S_IFLNK | 0777; /* the kernel of Linux gives this mode to every link */
		file->text = strdup(target);
		if (!file->text)
			return error_errno(err, ENOMEM, "image");
	}
	return t->alone ? 0 : take_xattrs(entry, file, err);
}

static int take_file(const struct taking *t, struct archive_entry *entry, const char *name,
		     struct error *err)
{
	struct rootfs_file *file = rootfs_file_new(archive_entry_mode(entry), err);

	if (!file)
		return -1;
	if (describe_entry(t, entry, file, err) < 0 ||
	    (S_ISREG(file->mode) && take_entry_data(t, entry, file, err) < 0)) {
		rootfs_drop(t->fs, file);
		return error_prefix(err, "\"%.300s\"", name);
	}
	return rootfs_put(t->fs, name, file, err);
}

static int hide(struct rootfs *fs, const char *name, const char *base, struct error *err)
{
	const char *hidden = base + strlen(HIDE);
	autofree char *path = NULL;

	if (strcmp(base, HIDE_ALL) == 0) {
		path = strndup(name, (size_t)(base - name));
		return path ? rootfs_hide_below(fs, path, err) : error_errno(err, ENOMEM, "image");
	}
	if (strncmp(hidden, HIDE, strlen(HIDE)) == 0)
		return 0; /* the file is left out, because it is only for the tool that made the
			   * layer */
	if (!*hidden || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
		return error_set(
			err, ERR_INVALID,
			"the layer is malformed, because its entry \"%.300s\" marks a deleted file, but names none: fetch or make the image again",
			name);
	if (asprintf(&path, "%.*s%s", (int)(base - name), name, hidden) < 0) {
		path = NULL;
		return error_errno(err, ENOMEM, "image");
	}
	return rootfs_hide(fs, path, err);
}

static bool is_file_type(mode_t type)
{
	return type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK;
}

static int take_of_layer(const struct taking *t, struct archive_entry *entry, const char *name,
			 struct error *err)
{
	const char *first = archive_entry_hardlink(entry), *slash = strrchr(name, '/');
	mode_t type = archive_entry_filetype(entry);

	slash = slash ? slash + 1 : name;
	if (strncmp(slash, HIDE, strlen(HIDE)) == 0) {
		if (archive_entry_size(entry) > 0)
			return error_set(
				err, ERR_INVALID,
				"the layer is malformed, because its entry \"%.300s\" marks a deleted file, but has contents: fetch or make the image again",
				name);
		return hide(t->fs, name, slash, err);
	}
	if (first)
		return rootfs_link(t->fs, name, first, err);
	if (is_file_type(type) || type == AE_IFIFO)
		return take_file(t, entry, name, err);
	/* A device is left out, but it hides a file with the same name in a lower layer. A device
	 * counts as one block, because reading its entry takes as much time as reading a small
	 * file. */
	return tar_count(t->from->bound, BLOCK, err) < 0 ? -1 : rootfs_hide(t->fs, name, err);
}

static int take_alone(const struct taking *t, struct archive_entry *entry, const char *name,
		      struct error *err)
{
	const char *first = archive_entry_hardlink(entry);

	if (tar_admit(t->alone, archive_entry_size(entry), err) < 0)
		return -1;
	if (!first && !is_file_type(archive_entry_filetype(entry)))
		return 0;
	if (name[0] == '/' || (first && first[0] == '/'))
		return error_set(
			err, ERR_INVALID,
			"the archive has the absolute path \"%.300s\", which could lead out of it: make the archive with relative paths",
			name[0] == '/' ? name : first);
	return first ? rootfs_link(t->fs, name, first, err) : take_file(t, entry, name, err);
}

static int take_all(const struct taking *t, struct error *err)
{
	struct archive_entry *entry;
	int got;

	while ((got = archive_read_next_header(t->from->archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *name = archive_entry_pathname(entry);

		if (artifact_check_signal(err) < 0)
			return -1;
		progress_count((size_t)(t->done + tar_bytes_read(t->from)), (size_t)t->total);
		if (!name || !*name)
			return error_set(
				err, ERR_INVALID,
				"the archive is damaged, because it has an entry without a name: fetch or make it again");
		if ((t->alone ? take_alone(t, entry, name, err)
			      : take_of_layer(t, entry, name, err)) < 0)
			return -1;
	}
	return got == ARCHIVE_EOF ? 0 : tar_failed(t->from, err);
}

/* A locale with the encoding UTF-8, which is used while archives are read. libarchive converts
 * names to the encoding of the current locale, and in UTF-8 no name is changed. */
static locale_t utf8;

int layer_prepare(struct error *err)
{
	auto_hash struct hash *loads_libcrypto = hash_new(err);

	if (!loads_libcrypto)
		return -1;
	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return utf8 ? 0 : error_errno(err, errno, "locale C.UTF-8");
}

static int take_archive(const struct taking *t, struct error *err)
{
	locale_t before = uselocale(utf8);
	int result = take_all(t, err);

	uselocale(before);
	if (result == 0 && t->alone && archive_format(t->from->archive) == ARCHIVE_FORMAT_EMPTY)
		return error_set(err, ERR_INVALID,
				 "the archive is an empty file: fetch or make it again");
	return result == 0 && t->alone ? tar_require_archive(t->from, err) : result;
}

int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, char diff_id[DIGEST_TEXT],
		struct error *err)
{
	auto_tar struct tar_reading from = {0};
	const struct taking t = {.fs = fs, .from = &from, .done = done, .total = total};

	rootfs_next_layer(fs);
	if (layer_prepare(err) < 0 || tar_open_hashed(&from, fd, rootfs_unpacked(fs), err) < 0 ||
	    take_archive(&t, err) < 0)
		return -1;
	return tar_digest(&from, rootfs_bytes_behind(fs), diff_id, err);
}

int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err)
{
	auto_tar struct tar_reading from = {0};
	struct tar_files alone = {.most_bytes = bounds->bytes, .most_count = bounds->count};
	const struct taking t = {.fs = fs, .from = &from, .alone = &alone};
	struct tar_bound unpacked = tar_bound_of(bounds->bytes, bounds->count);

	if (layer_prepare(err) < 0 || tar_open_bounded(&from, fd, UINT64_MAX, &unpacked, err) < 0 ||
	    take_archive(&t, err) < 0)
		return error_prefix(err, "unpacking %s", name);
	return 0;
}
