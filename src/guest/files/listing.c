/* SPDX-License-Identifier: MIT */
#include "guest/files/listing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "guest/writer.h"

#define FLUSH_BYTES 65536
#define TARGET_MAX 4096

static const char *type_name(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "link";
	case S_IFIFO:
		return "fifo";
	case S_IFSOCK:
		return "socket";
	case S_IFBLK:
		return "block";
	default:
		return "char";
	}
}

static int flush_listing(struct buf *out, size_t least, struct error *err)
{
	if (out->len < least)
		return 0;
	if (fd_write_all(STDOUT_FILENO, buf_bytes(out), out->len, err) < 0)
		return -1;
	buf_consume(out, out->len);
	return 0;
}

/* Appends the JSON line of one entry. `target` is the target of the link if the entry is a symbolic
 * link, and otherwise NULL. */
static int put_listed(struct buf *out, const char *name, const struct stat *st, const char *target,
		      struct error *err)
{
	struct writer w = writer_begin(err);
	autofree char *line = NULL;

	writer_text(&w, "name", name);
	if (!utf8_is_whole(name, strlen(name)))
		writer_base64(&w, "nameBase64", name, strlen(name));
	writer_text(&w, "type", type_name(st->st_mode));
	writer_number(&w, "mode", st->st_mode & 07777);
	writer_number(&w, "size", st->st_size);
	writer_number(&w, "mtime", st->st_mtim.tv_sec);
	writer_number(&w, "mtimeNs", st->st_mtim.tv_nsec);
	writer_number(&w, "uid", st->st_uid);
	writer_number(&w, "gid", st->st_gid);
	writer_number(&w, "links", (int64_t)st->st_nlink);
	if (target)
		writer_text(&w, "target", target);
	line = writer_end(&w);
	if (!line || buf_append(out, line, strlen(line), err) < 0 ||
	    buf_append(out, "\n", 1, err) < 0)
		return -1;
	return flush_listing(out, FLUSH_BYTES, err);
}

/* Appends the JSON line of the entry `name` of the directory `dir`. The name "" means the directory
 * `dir` itself. `shown` is the name in the JSON line. Skips an entry that was removed after it was
 * listed. */
static int put_named(struct buf *out, int dir, const char *name, const char *shown,
		     struct error *err)
{
	char target[TARGET_MAX + 1];
	struct stat st;
	ssize_t n = -1;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%.300s", shown);
	if (S_ISLNK(st.st_mode))
		n = readlinkat(dir, name, target, TARGET_MAX);
	if (n >= 0)
		target[n] = '\0';
	return put_listed(out, shown, &st, n >= 0 ? target : NULL, err);
}

static int open_path(int root, const char *path, uint64_t flags, struct error *err)
{
	struct open_how how = {.flags = flags | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? error_errno(err, errno, "%.300s", path) : fd;
}

static int put_one(int root, const char *path, uint64_t flags, struct error *err)
{
	autobuf struct buf out = BUF_INIT(0);
	autoclose int fd = open_path(root, path, O_PATH | flags, err);
	const char *slash = strrchr(path, '/'), *shown = slash && slash[1] ? slash + 1 : path;

	if (fd < 0 || put_named(&out, fd, "", shown, err) < 0)
		return -1;
	return flush_listing(&out, 1, err);
}

int stat_path(int root, const char *path, struct error *err)
{
	return put_one(root, path, O_NOFOLLOW, err);
}

/* Prints the entries of the directory `fd`. Closes `fd`. */
static int put_entries(int fd, const char *path, struct error *err)
{
	autobuf struct buf out = BUF_INIT(0);
	autodir DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		error_errno(err, errno, "%.300s", path);
		close(fd);
		return -1;
	}
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (put_named(&out, dirfd(dir), entry->d_name, entry->d_name, err) < 0)
			return -1;
	}
	return errno ? error_errno(err, errno, "%.300s", path) : flush_listing(&out, 1, err);
}

int list_path(int root, const char *path, struct error *err)
{
	struct error why = {0};
	int fd = open_path(root, path, O_RDONLY | O_DIRECTORY | O_NONBLOCK, &why);

	if (fd >= 0)
		return put_entries(fd, path, err);
	if (why.errnum == ENOTDIR)
		return put_one(root, path, 0, err);
	*err = why;
	return -1;
}

void listing_end(const struct error *result)
{
	struct writer w = writer_begin(NULL);
	autofree char *line = NULL;

	if (result->code) {
		writer_text(&w, "error", result->msg);
		writer_text(&w, "errorCode", error_code_name(result->code));
	} else {
		writer_bool(&w, "end", true);
	}
	line = writer_end(&w);
	if (line && fd_write_all(STDOUT_FILENO, line, strlen(line), NULL) == 0)
		(void)fd_write_all(STDOUT_FILENO, "\n", 1, NULL);
}
