/* SPDX-License-Identifier: MIT */
/*
 * Copies large sparse files. With a reflink both files share their blocks. Without a reflink only
 * the parts with data are copied, by the kernel if possible. So a copy of a disk of 60 GB with 1 GB
 * of data needs 1 GB.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/platform/file.h"

#define COPY_CHUNK ((off_t)1 << 20)
/* The greatest number of bytes that one call of path_clone_part() copies. */
#define PART ((off_t)16 << 20)

/* Copies the bytes from `start` to `end` by read and write calls, if copy_file_range() cannot copy
 * them. */
static int copy_by_hand(int from, int to, off_t start, off_t end, struct error *err)
{
	autofree uint8_t *chunk = malloc((size_t)COPY_CHUNK);

	if (!chunk)
		return error_errno(err, ENOMEM, "copy");
	while (start < end) {
		size_t want = (size_t)(end - start < COPY_CHUNK ? end - start : COPY_CHUNK);
		ssize_t n = pread(from, chunk, want, start);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "read");
		if (n == 0)
			return error_set(
				err, ERR_IO,
				"the source became shorter while it was copied: another program changes it; try again when that has ended");
		if (lseek(to, start, SEEK_SET) < 0)
			return error_errno(err, errno, "seek");
		if (fd_write_all(to, chunk, (size_t)n, err) < 0)
			return -1;
		start += n;
	}
	return 0;
}

static int copy_span(int from, int to, off_t start, off_t end, struct error *err)
{
	while (start < end) {
		ssize_t n = file_copy_range(from, start, to, start, (size_t)(end - start));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
			return error_errno(err, errno, "copy");
		/* copy_file_range() may fail on an old kernel, between two file systems, or because
		 * of a system call filter. On some file systems it returns 0. */
		if (n <= 0)
			return copy_by_hand(from, to, start, end, err);
		start += n;
	}
	return 0;
}

/* Copies at most `most` bytes of data, beginning at the offset *at, and sets *at to the offset
 * after the copied bytes. Sets *at to `size` when there is no more data. */
static int copy_part(int from, int to, off_t size, off_t most, off_t *at, struct error *err)
{
	off_t data = lseek(from, *at, SEEK_DATA);
	off_t hole = data < 0 ? -1 : lseek(from, data, SEEK_HOLE);
	off_t end = hole < 0 || hole > size ? size : hole;

	if (data < 0 && errno == ENXIO) {
		*at = size; /* only a hole remains */
		return 0;
	}
	/* If the file system cannot report holes, everything counts as data. */
	if (data < 0)
		data = *at;
	if (end - data > most)
		end = data + most;
	if (copy_span(from, to, data, end, err) < 0)
		return -1;
	*at = end;
	return 0;
}

static int clone_by_copy(int from, int to, off_t size, struct error *err)
{
	for (off_t at = 0; at < size;)
		if (copy_part(from, to, size, size, &at, err) < 0)
			return -1;
	return 0;
}

static int stat_source(int from, struct stat *st, struct error *err)
{
	if (fstat(from, st) < 0)
		return error_errno(err, errno, "source");
	if (!S_ISREG(st->st_mode))
		return error_set(
			err, ERR_INVALID,
			"the source of the copy is not a regular file: give a regular file");
	return 0;
}

/* Copies the data. *spare is the `spare` of path_clone_with_room_at(). If `spare` is NULL, free
 * space is not checked. */
static int copy_data(int from, const struct stat *st, int to, const uint64_t *spare,
		     struct error *err)
{
	off_t position = lseek(from, 0, SEEK_CUR);
	/* This number may be greater than the copy needs, because it also counts blocks without
	 * data. A greater number only makes the check stricter. */
	uint64_t needed = (uint64_t)st->st_blocks * 512 + (spare ? *spare : 0);
	struct statvfs fs;
	int rc;

	if (spare && fstatvfs(to, &fs) == 0 && (uint64_t)fs.f_bavail * fs.f_frsize < needed)
		return error_set(
			err, ERR_UNAVAILABLE,
			"no room: %llu bytes are free, but %llu are needed: make room on that disk",
			(unsigned long long)fs.f_bavail * fs.f_frsize, (unsigned long long)needed);
	if (ftruncate(to, st->st_size) < 0)
		return error_errno(err, errno, "size");
	rc = clone_by_copy(from, to, st->st_size, err);
	/* The search for data has moved the offset of the caller's descriptor, so the old offset is
	 * restored. */
	if (position >= 0)
		lseek(from, position, SEEK_SET);
	return rc;
}

static void tell_method(const char **method, bool cloned)
{
	if (method)
		*method = cloned ? "reflink" : "copy";
}

int path_clone_data(int from_fd, int to_fd, const char **method, struct error *err)
{
	struct stat st;
	bool cloned;

	if (stat_source(from_fd, &st, err) < 0)
		return -1;
	cloned = file_clone_into(from_fd, to_fd) == 0;
	if (!cloned && copy_data(from_fd, &st, to_fd, NULL, err) < 0)
		return -1;
	tell_method(method, cloned);
	return 0;
}

int path_clone_part(int from_fd, int to_fd, int64_t *at, struct error *err)
{
	off_t next = *at, position = lseek(from_fd, 0, SEEK_CUR);
	struct stat st;
	int got = 0;

	if (stat_source(from_fd, &st, err) < 0)
		return -1;
	if (*at == 0 && file_clone_into(from_fd, to_fd) == 0)
		return 1;
	if (*at == 0 && ftruncate(to_fd, st.st_size) < 0)
		return error_errno(err, errno, "size");
	if (next < st.st_size)
		got = copy_part(from_fd, to_fd, st.st_size, PART, &next, err);
	if (position >= 0)
		lseek(from_fd, position, SEEK_SET);
	if (got < 0)
		return -1;
	*at = next;
	return next >= st.st_size;
}

static int clone_file(int from_fd, int dirfd, const char *name, mode_t mode, const uint64_t *spare,
		      const char **method, struct error *err)
{
	bool cloned = false;
	struct stat st;
	int why;

	if (stat_source(from_fd, &st, err) < 0)
		return error_prefix(err, "copy to %s", name);
	autoclose int to = file_make_clone(from_fd, dirfd, name, &cloned, &why);
	if (to < 0)
		return error_errno(err, errno, "create %s", name);
	if (!cloned && copy_data(from_fd, &st, to, spare, err) < 0)
		goto failed;
	if (fchmod(to, mode) < 0) {
		error_errno(err, errno, "mode");
		goto failed;
	}
	tell_method(method, cloned);
	return 0;
failed:
	unlinkat(dirfd, name, 0);
	return error_prefix(err, "copy to %s", name);
}

int path_clone_file_at(int from_fd, int dirfd, const char *name, mode_t mode, const char **method,
		       struct error *err)
{
	return clone_file(from_fd, dirfd, name, mode, NULL, method, err);
}

int path_clone_with_room_at(int from_fd, int dirfd, const char *name, mode_t mode, uint64_t spare,
			    struct error *err)
{
	return clone_file(from_fd, dirfd, name, mode, &spare, NULL, err);
}
