/* SPDX-License-Identifier: MIT */
#include "artifact/cpio.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "artifact/artifact.h"
#include "base/cleanup.h"

#define BLOCK 65536

struct cpio {
	struct archive *archive;
	int64_t inode;
};

static void free_entry(struct archive_entry **entry)
{
	archive_entry_free(*entry);
}
#define auto_entry __attribute__((cleanup(free_entry)))

static int cpio_failed(const struct cpio *cpio, const char *name, struct error *err)
{
	int errnum = archive_errno(cpio->archive);

	if (errnum > 0)
		return error_errno(err, errnum, "initramfs entry %s", name);
	return error_set(
		err, ERR_IO,
		"the file %s cannot be put into the initrd, because its name or its data is too long: give a shorter one",
		name);
}

struct cpio *cpio_open(int fd, struct error *err)
{
	struct cpio *cpio = calloc(1, sizeof(*cpio));

	if (cpio)
		cpio->archive = archive_write_new();
	if (!cpio || !cpio->archive) {
		free(cpio);
		error_errno(err, ENOMEM, "initramfs");
		return NULL;
	}
	/* Kernels expect every header at a multiple of 4 bytes. The archive is padded to a multiple
	 * of 512 bytes, as the program cpio does. */
	if (archive_write_set_format_cpio_newc(cpio->archive) != ARCHIVE_OK ||
	    archive_write_set_bytes_per_block(cpio->archive, 512) != ARCHIVE_OK ||
	    archive_write_open_fd(cpio->archive, fd) != ARCHIVE_OK) {
		cpio_failed(cpio, "(start)", err);
		cpio_abandon(cpio);
		return NULL;
	}
	return cpio;
}

static int header(struct cpio *cpio, const char *name, mode_t mode, int64_t size,
		  const char *target, struct error *err)
{
	auto_entry struct archive_entry *entry = archive_entry_new();

	if (!entry)
		return error_errno(err, ENOMEM, "initramfs entry %s", name);
	archive_entry_set_pathname(entry, name);
	archive_entry_set_mode(entry, mode);
	archive_entry_set_size(entry, size);
	archive_entry_set_ino64(entry, ++cpio->inode);
	archive_entry_set_nlink(entry, S_ISDIR(mode) ? 2 : 1);
	archive_entry_set_mtime(entry, 0, 0);
	if (target)
		archive_entry_set_symlink(entry, target);
	if (archive_write_header(cpio->archive, entry) != ARCHIVE_OK)
		return cpio_failed(cpio, name, err);
	return 0;
}

int cpio_link(struct cpio *cpio, const char *name, const char *target, struct error *err)
{
	return header(cpio, name, S_IFLNK | 0777, 0, target, err);
}

int cpio_dir(struct cpio *cpio, const char *name, mode_t mode, struct error *err)
{
	return header(cpio, name, S_IFDIR | mode, 0, NULL, err);
}

static int body(struct cpio *cpio, const char *name, const void *data, size_t len,
		struct error *err)
{
	if (len > 0 && archive_write_data(cpio->archive, data, len) != (la_ssize_t)len)
		return cpio_failed(cpio, name, err);
	return 0;
}

int cpio_bytes(struct cpio *cpio, const char *name, mode_t mode, const void *data, size_t len,
	       struct error *err)
{
	if (header(cpio, name, S_IFREG | mode, (int64_t)len, NULL, err) < 0)
		return -1;
	return body(cpio, name, data, len, err);
}

int cpio_file(struct cpio *cpio, const char *name, mode_t mode, int fd, struct error *err)
{
	autofree char *block = malloc(BLOCK);
	struct stat st;
	int64_t left;

	if (!block)
		return error_errno(err, ENOMEM, "%s", name);
	if (fstat(fd, &st) < 0)
		return error_errno(err, errno, "%s", name);
	if (!S_ISREG(st.st_mode))
		return error_set(
			err, ERR_INVALID,
			"%s is not a regular file, so it cannot be put into an initrd: give a file",
			name);
	if (header(cpio, name, S_IFREG | mode, st.st_size, NULL, err) < 0)
		return -1;
	for (left = st.st_size; left > 0;) {
		ssize_t n = read(fd, block, left < BLOCK ? (size_t)left : BLOCK);
		if (n < 0)
			return error_errno(err, errno, "%s", name);
		if (n == 0)
			return error_set(
				err, ERR_IO,
				"%s became shorter while it was read: another program changes it; try again when that has ended",
				name);
		if (body(cpio, name, block, (size_t)n, err) < 0)
			return -1;
		left -= n;
	}
	return 0;
}

int cpio_close(struct cpio *cpio, struct error *err)
{
	int result = 0;

	if (archive_write_close(cpio->archive) != ARCHIVE_OK)
		result = cpio_failed(cpio, "(end)", err);
	cpio_abandon(cpio);
	return result;
}

void cpio_abandon(struct cpio *cpio)
{
	if (!cpio)
		return;
	archive_write_free(cpio->archive);
	free(cpio);
}
