/* SPDX-License-Identifier: MIT */
/*
 * From a tar archive into the staging directory. Everything is written readable and writable by us,
 * whatever its mode in the archive, since mode and owner are set in the image.
 */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/progress.h"
#include "artifact/tree.h"
#include "artifact/tree_impl.h"
#include "base/cleanup.h"
#include "base/path.h"

#define BLOCK (1u << 20)
#define SECURE                                                               \
	(ARCHIVE_EXTRACT_SECURE_NODOTDOT | ARCHIVE_EXTRACT_SECURE_SYMLINKS | \
	 ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS | ARCHIVE_EXTRACT_SPARSE | ARCHIVE_EXTRACT_TIME)

static void free_archive(struct archive **archive)
{
	if (*archive)
		archive_free(*archive);
}
#define auto_archive __attribute__((cleanup(free_archive)))

static int failed(struct archive *archive, const char *name, struct error *err)
{
	int errnum = archive_errno(archive);

	if (errnum > 0)
		return error_errno(err, errnum, "%s", name);
	return error_set(err, ERR_IO, "%s: %s", name, archive_error_string(archive));
}

/* "./usr/bin/" is "/usr/bin", "." is "/". malloc'd. */
static char *image_path(const char *name, struct error *err)
{
	autofree char *rooted = NULL;

	while (name[0] == '.' && (name[1] == '/' || !name[1]))
		name += 1 + (name[1] == '/');
	if (asprintf(&rooted, "/%s", name) < 0) {
		rooted = NULL;
		error_errno(err, ENOMEM, "image");
		return NULL;
	}
	return path_absolute(rooted, err);
}

static int write_data(struct archive *from, struct archive *to, const char *name, struct error *err)
{
	const void *block;
	size_t len;
	la_int64_t at;
	int got;

	while ((got = archive_read_data_block(from, &block, &len, &at)) == ARCHIVE_OK)
		if (archive_write_data_block(to, block, len, at) < ARCHIVE_OK)
			return failed(to, name, err);
	return got == ARCHIVE_EOF ? 0 : failed(from, name, err);
}

static bool is_wanted(struct archive_entry *entry)
{
	mode_t type = archive_entry_filetype(entry);

	return archive_entry_hardlink(entry) || type == AE_IFREG || type == AE_IFDIR ||
	       type == AE_IFLNK;
}

/* libarchive would make a file of a link without a target. */
static bool is_link(struct archive_entry *entry)
{
	const char *target = archive_entry_symlink(entry);

	return archive_entry_hardlink(entry) || (target && *target);
}

/* A hard link is listed through its first name: it is the same inode. */
static int list(struct tree *tree, struct archive_entry *entry, const char *path, struct error *err)
{
	if (archive_entry_hardlink(entry))
		return 0;
	return tree_add_staged(tree, path, archive_entry_mode(entry),
			       (uid_t)archive_entry_uid(entry), (gid_t)archive_entry_gid(entry),
			       archive_entry_mtime(entry), err);
}

/* Before it is unpacked: an archive of a few bytes can say that it holds any number. */
static int admit(struct tree *tree, struct archive_entry *entry, struct error *err)
{
	la_int64_t size = archive_entry_size(entry);

	if (size < 0)
		return error_set(err, ERR_INVALID, "a file of negative size");
	if (tree->bytes_max &&
	    ((uint64_t)size > tree->bytes_max || tree->bytes + (uint64_t)size > tree->bytes_max))
		return error_set(err, ERR_INVALID, "it unpacks to more than %llu bytes",
				 (unsigned long long)tree->bytes_max);
	if (tree->count_max && tree->count >= tree->count_max)
		return error_set(err, ERR_INVALID, "it holds more than %llu files",
				 (unsigned long long)tree->count_max);
	tree->bytes += ((uint64_t)size + 4095) & ~UINT64_C(4095);
	return 0;
}

static int take(struct tree *tree, struct archive *from, struct archive *to,
		struct archive_entry *entry, struct error *err)
{
	const char *name = archive_entry_pathname(entry);
	autofree char *path = name ? image_path(name, err) : NULL;

	if (!name)
		return error_set(err, ERR_INVALID, "an entry without a name");
	if (archive_entry_filetype(entry) == AE_IFLNK && !is_link(entry))
		return error_set(err, ERR_INVALID, "%s: a link to nothing", name);
	if (!path || admit(tree, entry, err) < 0 || list(tree, entry, path, err) < 0)
		return -1;
	if (archive_entry_filetype(entry) != AE_IFLNK)
		archive_entry_set_perm(entry,
				       archive_entry_filetype(entry) == AE_IFDIR ? 0700 : 0600);
	if (archive_write_header(to, entry) < ARCHIVE_OK)
		return failed(to, name, err);
	if (archive_entry_size(entry) > 0 && write_data(from, to, name, err) < 0)
		return -1;
	if (archive_write_finish_entry(to) < ARCHIVE_OK)
		return failed(to, name, err);
	return 0;
}

static int untar(struct tree *tree, struct archive *from, struct error *err)
{
	auto_archive struct archive *to = archive_write_disk_new();
	struct archive_entry *entry;
	int got;

	if (!to || archive_write_disk_set_options(to, SECURE) != ARCHIVE_OK)
		return error_errno(err, ENOMEM, "unpacking");
	while ((got = archive_read_next_header(from, &entry)) == ARCHIVE_OK) {
		if (artifact_check_signal(err) < 0)
			return -1;
		progress_draw();
		if (is_wanted(entry) && take(tree, from, to, entry, err) < 0)
			return -1;
	}
	if (got != ARCHIVE_EOF)
		return failed(from, "archive", err);
	/* Times of directories are set no earlier than here. */
	return archive_write_close(to) < ARCHIVE_OK ? failed(to, "archive", err) : 0;
}

/* Names of a pax archive are UTF-8; libarchive hands them out in the locale's encoding or not at
 * all. */
static int untar_utf8(struct tree *tree, struct archive *from, struct error *err)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before;
	int result;

	if (!utf8)
		return error_errno(err, errno, "locale C.UTF-8");
	before = uselocale(utf8);
	result = untar(tree, from, err);
	uselocale(before);
	freelocale(utf8);
	return result;
}

int tree_untar(struct tree *tree, const char *archive, const char *dir, struct error *err)
{
	auto_archive struct archive *from = archive_read_new();
	autoclose int target = path_open_dir(dir, err);
	autoclose int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int result;

	if (target < 0)
		return -1;
	if (!from || archive_read_support_format_tar(from) != ARCHIVE_OK)
		return error_errno(err, ENOMEM, "unpacking");
	archive_read_support_filter_gzip(from);
	archive_read_support_filter_bzip2(from);
	archive_read_support_filter_xz(from);
	archive_read_support_filter_zstd(from);
	if (archive_read_open_filename(from, archive, BLOCK) != ARCHIVE_OK)
		return failed(from, archive, err);
	/* libarchive's secure extraction knows relative names alone. */
	if (here < 0 || fchdir(target) < 0)
		return error_errno(err, errno, "%s", dir);
	result = untar_utf8(tree, from, err);
	if (fchdir(here) < 0 && result == 0)
		result = error_errno(err, errno, "working directory");
	if (result == 0)
		tree_forget_replaced(tree, target);
	return result < 0 ? error_prefix(err, "unpacking %s", archive) : 0;
}
