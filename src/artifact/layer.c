/* SPDX-License-Identifier: MIT */
#include "artifact/layer.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "base/cleanup.h"
#include "base/limits.h"

#define BLOCK (1u << 20)
/* A file ".wh.NAME" hides NAME of the layers below, this one all of them in its directory. */
#define HIDE ".wh."
#define HIDE_ALL ".wh..wh..opq"
#define XATTR_BYTES 4096 /* of a file in all: ext4 keeps them in one block */
#define XATTR_NAME_BYTES 255
#define TIME_MAX ((INT64_C(1) << 34) - (INT64_C(1) << 31) - 1) /* what ext4 can keep */
#define NSEC_MAX 999999999

/* An archive that is being read. */
struct reading {
	struct archive *archive;
	int fd;
	char *block;
	bool ended; /* all of it was read, and more was wanted */
	int errnum; /* of the host, which could not read it; or 0 */
};

static void end_reading(struct reading *from)
{
	if (from->archive)
		archive_read_free(from->archive);
	free(from->block);
}
#define auto_reading __attribute__((cleanup(end_reading)))

/* What is taken of it. */
struct taking {
	struct rootfs *fs;
	struct reading *from;
	const struct layer_bounds *alone; /* NULL: it is a layer */
	uint64_t bytes, count;		  /* so far, of one that stands alone */
	uint64_t done, total;		  /* for the progress; total 0: unknown */
};

int layer_out_of_memory(struct error *err)
{
	return error_set(err, ERR_INVALID, "it takes more than %llu MiB of memory to be read",
			 (unsigned long long)limit_get(LIMIT_ARCHIVE_MEMORY_MIB));
}

/* Reading is the host's trouble; else it is the archive that is wrong. The library's own words are
 * for those who know it. */
static int reading_failed(const struct reading *from, struct error *err)
{
	int entry = archive_file_count(from->archive);

	if (from->errnum)
		return error_errno(err, from->errnum, "read");
	if (archive_errno(from->archive) == ENOMEM)
		return layer_out_of_memory(err);
	if (entry == 0)
		return error_set(
			err, ERR_INVALID,
			"it is no tar archive, neither plain nor compressed by gzip, bzip2, "
			"xz or zstd");
	return error_set(err, ERR_INVALID,
			 from->ended ? "it ends too early, in or behind its entry %d"
				     : "it is damaged in or behind its entry %d",
			 entry);
}

static la_ssize_t read_tar_block(struct archive *archive, void *data, const void **out)
{
	struct reading *from = data;
	ssize_t n;

	do
		n = read(from->fd, from->block, BLOCK);
	while (n < 0 && errno == EINTR && artifact_check_signal(NULL) == 0);
	if (n < 0) {
		from->errnum = errno;
		archive_set_error(archive, errno, "read");
		return ARCHIVE_FATAL;
	}
	from->ended = n == 0;
	*out = from->block;
	return n;
}

/* 0: as much is to be read instead, as of a pipe. */
static la_int64_t skip_bytes(struct archive *archive, void *data, la_int64_t bytes)
{
	const struct reading *from = data;
	off_t before = lseek(from->fd, 0, SEEK_CUR);
	struct stat st;

	(void)archive;
	if (before < 0 || fstat(from->fd, &st) < 0 || bytes > st.st_size - before ||
	    lseek(from->fd, bytes, SEEK_CUR) < 0)
		return 0;
	return bytes;
}

static int open_tar(struct reading *from, int fd, struct error *err)
{
	struct archive *archive = archive_read_new();

	*from = (struct reading){.archive = archive, .fd = fd, .block = malloc(BLOCK)};
	if (!archive || !from->block || archive_read_support_format_tar(archive) != ARCHIVE_OK ||
	    archive_read_support_format_empty(archive) != ARCHIVE_OK)
		return error_errno(err, ENOMEM, "unpacking");
	archive_read_support_filter_gzip(archive);
	archive_read_support_filter_bzip2(archive);
	archive_read_support_filter_xz(archive);
	archive_read_support_filter_zstd(archive);
	if (archive_read_open2(archive, from, NULL, read_tar_block, skip_bytes, NULL) != ARCHIVE_OK)
		return reading_failed(from, err);
	return 0;
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

static int copy_entry_data(const struct taking *t, int fd, la_int64_t size, struct error *err)
{
	const void *block;
	size_t len;
	la_int64_t at;
	int got;

	while ((got = archive_read_data_block(t->from->archive, &block, &len, &at)) == ARCHIVE_OK) {
		if (at < 0 || at > size || (la_int64_t)len > size - at)
			return error_set(err, ERR_INVALID, "more data than the file has");
		if (artifact_check_signal(err) < 0 || pwrite_all(fd, block, len, at, err) < 0)
			return -1;
		progress_draw();
	}
	if (got != ARCHIVE_EOF)
		return reading_failed(t->from, err);
	/* What is left out are holes. */
	return ftruncate(fd, size) < 0 ? error_errno(err, errno, "unpacking") : 0;
}

static int take_entry_data(const struct taking *t, struct archive_entry *entry,
			   struct rootfs_file *file, struct error *err)
{
	la_int64_t size = archive_entry_size(entry);
	autoclose int fd = -1;

	if (size < 0)
		return error_set(err, ERR_INVALID, "a file of negative size");
	fd = rootfs_open_data(t->fs, file, (uint64_t)size, err);
	return fd < 0 ? -1 : copy_entry_data(t, fd, size, err);
}

/* Of the name spaces that ext4 knows; the name is any bytes. */
static bool is_kept_xattr(const char *name)
{
	static const char *const spaces[] = {"user.", "trusted.", "security."};

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++)
		if (strncmp(name, spaces[i], strlen(spaces[i])) == 0)
			return name[strlen(spaces[i])] != '\0';
	return strcmp(name, "system.posix_acl_access") == 0 ||
	       strcmp(name, "system.posix_acl_default") == 0;
}

static int add_xattr(struct rootfs_file *file, const char *name, const void *value, size_t len,
		     struct error *err)
{
	struct rootfs_xattr *more =
		reallocarray(file->xattrs, file->xattr_count + 1, sizeof(*file->xattrs));

	if (!more)
		return error_errno(err, ENOMEM, "image");
	file->xattrs = more;
	more += file->xattr_count;
	*more = (struct rootfs_xattr){.name = strdup(name), .value = malloc(len + 1), .len = len};
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
		if (!name || !is_kept_xattr(name))
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

static int describe_entry(const struct taking *t, struct archive_entry *entry,
			  struct rootfs_file *file, struct error *err)
{
	la_int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);
	const char *target = archive_entry_symlink(entry);

	if (uid < 0 || uid >= UINT32_MAX || gid < 0 || gid >= UINT32_MAX)
		return error_set(err, ERR_INVALID, "an owner that is none");
	file->uid = (uid_t)uid;
	file->gid = (gid_t)gid;
	file->time = clamp(archive_entry_mtime(entry), TIME_MAX);
	file->nsec = (uint32_t)clamp(archive_entry_mtime_nsec(entry), NSEC_MAX);
	if (S_ISLNK(file->mode)) {
		if (!target || !*target || strlen(target) > ROOTFS_PATH_MAX)
			return error_set(err, ERR_INVALID, "a link to nothing");
		file->mode = S_IFLNK | 0777; /* as a kernel would have it */
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
		return 0; /* of the tool that made the layer, and for it alone */
	if (!*hidden || strcmp(hidden, ".") == 0 || strcmp(hidden, "..") == 0)
		return error_set(err, ERR_INVALID, "\"%.300s\" hides nothing", name);
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
		/* Contents that go nowhere could be read for hours. */
		if (archive_entry_size(entry) > 0)
			return error_set(err, ERR_INVALID,
					 "\"%.300s\" hides a name and has contents", name);
		return hide(t->fs, name, slash, err);
	}
	if (first)
		return rootfs_link(t->fs, name, first, err);
	if (is_file_type(type) || type == AE_IFIFO)
		return take_file(t, entry, name, err);
	return rootfs_hide(t->fs, name, err);
}

/* Before it is unpacked: an archive of a few bytes can say that it holds any number. */
static int admit_entry(struct taking *t, struct archive_entry *entry, struct error *err)
{
	la_int64_t size = archive_entry_size(entry);

	if (size < 0)
		return error_set(err, ERR_INVALID, "a file of negative size");
	if ((uint64_t)size > t->alone->bytes || t->bytes + (uint64_t)size > t->alone->bytes)
		return error_set(err, ERR_INVALID, "it unpacks to more than %" PRIu64 " bytes",
				 t->alone->bytes);
	if (++t->count > t->alone->count)
		return error_set(err, ERR_INVALID, "it holds more than %" PRIu64 " files",
				 t->alone->count);
	t->bytes += ((uint64_t)size + 4095) & ~UINT64_C(4095);
	return 0;
}

static int take_alone(struct taking *t, struct archive_entry *entry, const char *name,
		      struct error *err)
{
	const char *first = archive_entry_hardlink(entry);

	if (!first && !is_file_type(archive_entry_filetype(entry)))
		return 0;
	if (name[0] == '/' || (first && first[0] == '/'))
		return error_set(err, ERR_INVALID, "\"%.300s\": an absolute path",
				 name[0] == '/' ? name : first);
	if (admit_entry(t, entry, err) < 0)
		return -1;
	return first ? rootfs_link(t->fs, name, first, err) : take_file(t, entry, name, err);
}

static int take_all(struct taking *t, struct error *err)
{
	struct archive_entry *entry;
	int got;

	while ((got = archive_read_next_header(t->from->archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *name = archive_entry_pathname(entry);

		if (artifact_check_signal(err) < 0)
			return -1;
		progress_count(
			(size_t)(t->done + (uint64_t)archive_filter_bytes(t->from->archive, -1)),
			(size_t)t->total);
		if (!name || !*name)
			return error_set(err, ERR_INVALID, "an entry without a name");
		if ((t->alone ? take_alone(t, entry, name, err)
			      : take_of_layer(t, entry, name, err)) < 0)
			return -1;
	}
	return got == ARCHIVE_EOF ? 0 : reading_failed(t->from, err);
}

/* libarchive hands names out in the encoding of the locale. */
static locale_t utf8;

int layer_load_locale(struct error *err)
{
	if (!utf8)
		utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	return utf8 ? 0 : error_errno(err, errno, "locale C.UTF-8");
}

static int take_archive(struct taking *t, int fd, struct error *err)
{
	locale_t before;
	int result;

	if (open_tar(t->from, fd, err) < 0 || layer_load_locale(err) < 0)
		return -1;
	before = uselocale(utf8);
	result = take_all(t, err);
	uselocale(before);
	if (result == 0 && t->alone && archive_format(t->from->archive) == ARCHIVE_FORMAT_EMPTY)
		return error_set(err, ERR_INVALID, "the archive is an empty file");
	return result;
}

int layer_apply(struct rootfs *fs, int fd, uint64_t done, uint64_t total, struct error *err)
{
	auto_reading struct reading from = {0};
	struct taking t = {.fs = fs, .from = &from, .done = done, .total = total};

	rootfs_next_layer(fs);
	return take_archive(&t, fd, err);
}

int layer_unpack(struct rootfs *fs, int fd, const char *name, const struct layer_bounds *bounds,
		 struct error *err)
{
	auto_reading struct reading from = {0};
	struct taking t = {.fs = fs, .from = &from, .alone = bounds};

	return take_archive(&t, fd, err) < 0 ? error_prefix(err, "unpacking %s", name) : 0;
}

/* 1: it is the next to be read. */
static int look_for(const struct reading *from, const char *name, struct error *err)
{
	struct archive_entry *entry;
	int got;

	while ((got = archive_read_next_header(from->archive, &entry)) == ARCHIVE_OK ||
	       got == ARCHIVE_WARN) {
		const char *there = archive_entry_pathname(entry);

		if (artifact_check_signal(err) < 0)
			return -1;
		if (there && strncmp(there, "./", 2) == 0)
			there += 2;
		if (there && strcmp(there, name) == 0)
			return 1;
	}
	return got == ARCHIVE_EOF ? 0 : reading_failed(from, err);
}

int layer_has(int fd, const char *name, struct error *err)
{
	auto_reading struct reading from = {0};

	return open_tar(&from, fd, err) < 0 ? -1 : look_for(&from, name, err);
}

int layer_read(int fd, const char *name, struct buf *out, struct error *err)
{
	auto_reading struct reading from = {0};
	int there = open_tar(&from, fd, err) < 0 ? -1 : look_for(&from, name, err);
	const void *block;
	size_t len;
	la_int64_t at;
	int got = ARCHIVE_EOF;

	if (there == 0)
		return error_set(err, ERR_NOT_FOUND, "it has no %s", name);
	if (there < 0)
		return -1;
	while ((got = archive_read_data_block(from.archive, &block, &len, &at)) == ARCHIVE_OK)
		if (buf_append(out, block, len, err) < 0)
			return -1;
	return got == ARCHIVE_EOF ? 0 : reading_failed(&from, err);
}
