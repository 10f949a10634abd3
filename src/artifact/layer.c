/* SPDX-License-Identifier: MIT */
#include "artifact/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "base/cleanup.h"

#define BLOCK (1u << 20)
/* A file ".wh.NAME" hides NAME of the layers below, this one all of them in its directory. */
#define HIDE ".wh."
#define HIDE_ALL ".wh..wh..opq"
#define XATTR_BYTES 4096 /* of a file in all: ext4 keeps them in one block */
#define XATTR_NAME_BYTES 255

static void free_archive(struct archive **archive)
{
	if (*archive)
		archive_free(*archive);
}
#define auto_archive __attribute__((cleanup(free_archive)))

static int failed(struct archive *from, struct error *err)
{
	const char *text = archive_error_string(from);

	return error_set(err, ERR_INVALID, "%s", text ? text : "it is damaged");
}

static struct archive *open_tar(const char *file, struct error *err)
{
	auto_archive struct archive *from = archive_read_new();

	if (!from || archive_read_support_format_tar(from) != ARCHIVE_OK ||
	    archive_read_support_format_empty(from) != ARCHIVE_OK) {
		error_errno(err, ENOMEM, "unpacking");
		return NULL;
	}
	archive_read_support_filter_gzip(from);
	archive_read_support_filter_bzip2(from);
	archive_read_support_filter_xz(from);
	archive_read_support_filter_zstd(from);
	if (archive_read_open_filename(from, file, BLOCK) != ARCHIVE_OK) {
		failed(from, err);
		return NULL;
	}
	return steal_ptr(&from);
}

static int pwrite_all(int fd, const char *data, size_t len, la_int64_t at, struct error *err)
{
	while (len > 0) {
		ssize_t n = pwrite(fd, data, len, at);

		if (n < 0 && errno != EINTR)
			return error_errno(err, errno, "unpacking");
		if (n > 0) {
			data += n;
			len -= (size_t)n;
			at += n;
		}
	}
	return 0;
}

static int copy_data(struct archive *from, int fd, la_int64_t size, struct error *err)
{
	const void *block;
	size_t len;
	la_int64_t at;
	int got;

	while ((got = archive_read_data_block(from, &block, &len, &at)) == ARCHIVE_OK) {
		if (at < 0 || at > size || (la_int64_t)len > size - at)
			return error_set(err, ERR_INVALID, "more data than the file has");
		if (artifact_check_signal(err) < 0 || pwrite_all(fd, block, len, at, err) < 0)
			return -1;
		progress_draw();
	}
	if (got != ARCHIVE_EOF)
		return failed(from, err);
	/* What is left out are holes. */
	return ftruncate(fd, size) < 0 ? error_errno(err, errno, "unpacking") : 0;
}

static int take_data(struct rootfs *fs, struct archive *from, struct archive_entry *entry,
		     struct rootfs_file *file, struct error *err)
{
	la_int64_t size = archive_entry_size(entry);
	autoclose int fd = -1;

	if (size < 0)
		return error_set(err, ERR_INVALID, "a file of negative size");
	fd = rootfs_open_data(fs, file, (uint64_t)size, err);
	return fd < 0 ? -1 : copy_data(from, fd, size, err);
}

/* Of the name spaces that ext4 knows. */
static bool is_kept(const char *name)
{
	static const char *const kept[] = {"user.", "trusted.", "security.", "system.posix_acl_"};

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (strncmp(name, kept[i], strlen(kept[i])) == 0)
			break;
		else if (i + 1 == ARRAY_SIZE(kept))
			return false;
	for (; *name; name++)
		if (*name <= ' ' || *name == 0x7f || *name == '"')
			return false;
	return true;
}

static int add_xattr(struct rootfs_file *file, const char *name, const void *value, size_t len,
		     struct error *err)
{
	struct tree_xattr *more =
		reallocarray(file->xattrs, file->xattr_count + 1, sizeof(*file->xattrs));

	if (!more)
		return error_errno(err, ENOMEM, "image");
	file->xattrs = more;
	more += file->xattr_count;
	*more = (struct tree_xattr){.name = strdup(name), .value = malloc(len + 1), .len = len};
	file->xattr_count++;
	if (!more->name || !more->value)
		return error_errno(err, ENOMEM, "image");
	memcpy(more->value, value, len);
	return 0;
}

static int take_xattrs(struct archive_entry *entry, struct rootfs_file *file, struct error *err)
{
	size_t len, all = 0;
	const char *name;
	const void *value;

	archive_entry_xattr_reset(entry);
	while (archive_entry_xattr_next(entry, &name, &value, &len) == ARCHIVE_OK) {
		if (!name || !is_kept(name))
			continue;
		if (strlen(name) > XATTR_NAME_BYTES)
			return error_set(err, ERR_INVALID,
					 "the name of an extended attribute of more than %d bytes",
					 XATTR_NAME_BYTES);
		all += strlen(name) + len;
		if (all > XATTR_BYTES)
			return error_set(err, ERR_INVALID,
					 "more than %d bytes of extended attributes", XATTR_BYTES);
		if (add_xattr(file, name, len ? value : "", len, err) < 0)
			return -1;
	}
	return 0;
}

static int64_t clamp(int64_t value, int64_t max)
{
	return value < 0 ? 0 : value > max ? max : value;
}

static int describe(struct archive_entry *entry, struct rootfs_file *file, struct error *err)
{
	la_int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);
	const char *target = archive_entry_symlink(entry);

	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
		return error_set(err, ERR_INVALID, "an owner that is none");
	file->uid = (uid_t)uid;
	file->gid = (gid_t)gid;
	file->time = clamp(archive_entry_mtime(entry), INT32_MAX);
	if (!S_ISLNK(file->mode))
		return take_xattrs(entry, file, err);
	if (!target || !*target || strlen(target) > 4000)
		return error_set(err, ERR_INVALID, "a link to nothing");
	file->mode = S_IFLNK | 0777; /* as a kernel would have it */
	file->target = strdup(target);
	return file->target ? take_xattrs(entry, file, err) : error_errno(err, ENOMEM, "image");
}

static int take_file(struct rootfs *fs, struct archive *from, struct archive_entry *entry,
		     const char *name, struct error *err)
{
	struct rootfs_file *file = rootfs_file_new(archive_entry_mode(entry), err);

	if (!file)
		return -1;
	if (describe(entry, file, err) < 0 ||
	    (S_ISREG(file->mode) && take_data(fs, from, entry, file, err) < 0)) {
		rootfs_drop(fs, file);
		return error_prefix(err, "\"%.300s\"", name);
	}
	return rootfs_put(fs, name, file, err);
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
		return 0; /* of the tool that made the layer, and for it alone */
	if (!*hidden || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
		return error_set(err, ERR_INVALID, "\"%.300s\" hides nothing", name);
	if (asprintf(&path, "%.*s%s", (int)(base - name), name, hidden) < 0) {
		path = NULL;
		return error_errno(err, ENOMEM, "image");
	}
	return rootfs_hide(fs, path, err);
}

static int take(struct rootfs *fs, struct archive *from, struct archive_entry *entry,
		struct error *err)
{
	const char *name = archive_entry_pathname(entry);
	const char *first = archive_entry_hardlink(entry), *slash;
	mode_t type = archive_entry_filetype(entry);

	if (!name || !*name)
		return error_set(err, ERR_INVALID, "an entry without a name");
	slash = strrchr(name, '/');
	slash = slash ? slash + 1 : name;
	if (strncmp(slash, HIDE, strlen(HIDE)) == 0) {
		/* Contents that go nowhere could be read for hours. */
		if (archive_entry_size(entry) > 0)
			return error_set(err, ERR_INVALID,
					 "\"%.300s\" hides a name and has contents", name);
		return hide(fs, name, slash, err);
	}
	if (first)
		return rootfs_link(fs, name, first, err);
	if (type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK || type == AE_IFIFO)
		return take_file(fs, from, entry, name, err);
	return rootfs_hide(fs, name, err);
}

static int apply(struct rootfs *fs, struct archive *from, uint64_t done, uint64_t total,
		 struct error *err)
{
	struct archive_entry *entry;
	int got;

	rootfs_next_layer(fs);
	while ((got = archive_read_next_header(from, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		if (artifact_check_signal(err) < 0)
			return -1;
		progress_count((size_t)(done + (uint64_t)archive_filter_bytes(from, -1)),
			       (size_t)total);
		if (take(fs, from, entry, err) < 0)
			return -1;
	}
	return got == ARCHIVE_EOF ? 0 : failed(from, err);
}

/* libarchive hands names out in the encoding of the locale. */
static locale_t use_utf8(struct error *err)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);

	if (!utf8)
		error_errno(err, errno, "locale C.UTF-8");
	return utf8 ? uselocale(utf8) : (locale_t)0;
}

static void use_again(locale_t before)
{
	freelocale(uselocale(before));
}

int layer_apply(struct rootfs *fs, const char *file, uint64_t done, uint64_t total,
		struct error *err)
{
	auto_archive struct archive *from = open_tar(file, err);
	locale_t before;
	int result;

	if (!from)
		return -1;
	before = use_utf8(err);
	if (!before)
		return -1;
	result = apply(fs, from, done, total, err);
	use_again(before);
	return result;
}

static int look_for(struct archive *from, const char *name, struct error *err)
{
	struct archive_entry *entry;
	int got;

	while ((got = archive_read_next_header(from, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *there = archive_entry_pathname(entry);

		if (artifact_check_signal(err) < 0)
			return -1;
		if (there && strncmp(there, "./", 2) == 0)
			there += 2;
		if (there && strcmp(there, name) == 0)
			return 1;
	}
	return got == ARCHIVE_EOF ? 0 : failed(from, err);
}

int layer_has(const char *archive, const char *name, struct error *err)
{
	auto_archive struct archive *from = open_tar(archive, err);

	return from ? look_for(from, name, err) : -1;
}

int layer_read(const char *archive, const char *name, struct buf *out, struct error *err)
{
	auto_archive struct archive *from = open_tar(archive, err);
	int there = from ? look_for(from, name, err) : -1;
	const void *block;
	size_t len;
	la_int64_t at;
	int got = ARCHIVE_EOF;

	if (there == 0)
		return error_set(err, ERR_NOT_FOUND, "%s has no %s", archive, name);
	if (there < 0)
		return -1;
	while ((got = archive_read_data_block(from, &block, &len, &at)) == ARCHIVE_OK)
		if (buf_append(out, block, len, err) < 0)
			return -1;
	return got == ARCHIVE_EOF ? 0 : failed(from, err);
}
