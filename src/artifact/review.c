/* SPDX-License-Identifier: MIT */
#include "artifact/review.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/hash.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/platform/file.h"

/* The user of the guest to whom the files of the directory's owner belong, as in a shared
 * directory (backend/parts/idmap.h). */
#define GUEST_USER 1000
#define NOBODY 65534
/* The largest number of levels of directories. Each level needs a descriptor during the walk. */
#define LEVELS 128
#define LIST_HEAD "microagent-review-list 1"

/* --- the walk -------------------------------------------------------------------------------- */

static int64_t nanoseconds(struct timespec time)
{
	return (int64_t)time.tv_sec * (int64_t)NS_PER_S + time.tv_nsec;
}

/* Returns a new entry for the file `path`, or NULL with err set. The entry takes over `path`. */
static struct review_file *add_file(struct review *r, char **path, const struct stat *st, char type,
				    struct error *err)
{
	if (r->count >= limit_get(LIMIT_REVIEW_FILES)) {
		error_set(err, ERR_UNAVAILABLE,
			  "the directory has more than %" PRIu64
			  " files, the most that are taken for a review: share a smaller directory",
			  limit_get(LIMIT_REVIEW_FILES));
		return NULL;
	}
	if (r->count == r->room) {
		size_t room = r->room ? 2 * r->room : 256;
		struct review_file *more = reallocarray(r->files, room, sizeof(*more));

		if (!more) {
			error_errno(err, ENOMEM, "review");
			return NULL;
		}
		r->files = more;
		r->room = room;
	}
	r->unsettled = r->unsettled || nanoseconds(file_changed(st)) >= r->settled;
	r->files[r->count] =
		(struct review_file){.path = steal_ptr(path),
				     .type = type,
				     .mode = st->st_mode & 07777,
				     .size = S_ISREG(st->st_mode) ? (uint64_t)st->st_size : 0,
				     .dev = st->st_dev,
				     .ino = st->st_ino,
				     .mtime = nanoseconds(file_modified(st)),
				     .ctime = nanoseconds(file_changed(st)),
				     .owner = st->st_uid,
				     .digest = "-"};
	return &r->files[r->count++];
}

static int leave_out(struct review *r, char **path, const struct stat *st, const char *why,
		     struct error *err)
{
	struct review_file *file = add_file(r, path, st, 's', err);

	if (!file)
		return -1;
	file->why = why;
	r->left_out++;
	return 0;
}

static int add_link(struct review *r, int dir, const char *name, char **path, const struct stat *st,
		    struct error *err)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(dir, name, target, sizeof(target));
	struct review_file *file;

	if (len < 0 || (size_t)len == sizeof(target))
		return leave_out(r, path, st, "a link that cannot be read", err);
	file = add_file(r, path, st, 'l', err);
	if (!file)
		return -1;
	file->target = strndup(target, (size_t)len);
	if (!file->target)
		return error_errno(err, ENOMEM, "review");
	return digest_bytes(target, (size_t)len, file->digest, err);
}

static int walk_dir(struct review *r, int dir_fd, const char *path, unsigned level,
		    struct error *err);

static int walk_entry(struct review *r, int dir, const char *parent, const char *name,
		      unsigned level, struct error *err)
{
	autofree char *path = NULL;
	autoclose int below = -1;
	struct stat st;

	if (asprintf(&path, "%s%s%s", parent, *parent ? "/" : "", name) < 0) {
		path = NULL;
		return error_errno(err, ENOMEM, "review");
	}
	/* Another program may remove the file meanwhile. Such a file is not in the image. */
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : error_errno(err, errno, "%.300s", path);
	if (strlen(path) > ROOTFS_PATH_MAX)
		return leave_out(r, &path, &st, "a path that is too long", err);
	if (st.st_dev != r->stat.st_dev)
		return leave_out(r, &path, &st, "on another file system", err);
	if (S_ISLNK(st.st_mode))
		return add_link(r, dir, name, &path, &st, err);
	if (S_ISREG(st.st_mode)) {
		if (faccessat(dir, name, R_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW) < 0)
			return leave_out(r, &path, &st, "not readable for this user", err);
		r->bytes += (uint64_t)st.st_size;
		if (r->bytes > limit_get(LIMIT_REVIEW_BYTES))
			return error_set(
				err, ERR_UNAVAILABLE,
				"the directory's files have more than %" PRIu64
				" MiB together, the most that are taken for a review: share a smaller directory",
				limit_get(LIMIT_REVIEW_BYTES) >> 20);
		return add_file(r, &path, &st, 'f', err) ? 0 : -1;
	}
	if (!S_ISDIR(st.st_mode))
		return leave_out(r, &path, &st, "a device, a socket or a FIFO", err);
	if (level >= LEVELS)
		return leave_out(r, &path, &st, "too deep", err);
	below = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0)
		return leave_out(r, &path, &st, "not readable for this user", err);
	autofree char *own = strdup(path);
	if (!own)
		return error_errno(err, ENOMEM, "review");
	if (!add_file(r, &path, &st, 'd', err))
		return -1;
	return walk_dir(r, steal_fd(&below), own, level + 1, err);
}

/* Walks the directory that is open as `dir_fd`, and closes `dir_fd`. */
static int walk_dir(struct review *r, int dir_fd, const char *path, unsigned level,
		    struct error *err)
{
	autodir DIR *dir = fdopendir(dir_fd);
	const struct dirent *entry;

	if (!dir) {
		error_errno(err, errno, "%.300s", path);
		close(dir_fd);
		return -1;
	}
	for (errno = 0; (entry = readdir(dir)); errno = 0) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (walk_entry(r, dir_fd, path, entry->d_name, level, err) < 0 ||
		    artifact_check_signal(err) < 0)
			return -1;
	}
	return errno ? error_errno(err, errno, "%.300s", path) : 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct review_file *)a)->path, ((const struct review_file *)b)->path);
}

int review_walk(int root, struct review *out, struct error *err)
{
	auto_review struct review r = {.root = root,
				       .settled = clock_real_ns() -
						  (int64_t)limit_get(LIMIT_DIGEST_SETTLED_MS) *
							  (int64_t)NS_PER_MS};
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &r.stat) < 0) {
		error_errno(err, errno, "the directory");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (walk_dir(&r, fd, "", 0, err) < 0)
		return -1;
	if (r.count > 0)
		qsort(r.files, r.count, sizeof(*r.files), by_path);
	*out = r;
	r = (struct review){0};
	return 0;
}

void review_free(struct review *review)
{
	for (size_t i = 0; i < review->count; i++) {
		free(review->files[i].path);
		free(review->files[i].target);
	}
	free(review->files);
	hash_free(&review->hash);
	*review = (struct review){0};
}

/* --- the list -------------------------------------------------------------------------------- */

/* Appends the record of a file, without its digest if `state` is true: the digest of a file's
 * contents is only known when the contents were read. */
static int add_record(struct buf *out, const struct review_file *f, bool state, struct error *err)
{
	if (buf_printf(out, err,
		       "%c %o %" PRIu64 " %" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %s %s",
		       f->type, (unsigned)f->mode, f->size, f->mtime, f->ctime, f->dev, f->ino,
		       state ? "-" : f->digest, f->path) < 0)
		return -1;
	return buf_append(out, "", 1, err);
}

int review_state(const struct review *review, char out[DIGEST_TEXT], struct error *err)
{
	auto_hash struct hash *hash = hash_new(err);
	autobuf struct buf text = BUF_INIT(0);

	if (!hash || buf_printf(&text, err, LIST_HEAD " %u %u", (unsigned)review->stat.st_uid,
				(unsigned)review->stat.st_mode) < 0)
		return -1;
	for (size_t i = 0; i < review->count; i++) {
		if (add_record(&text, &review->files[i], true, err) < 0 ||
		    buf_printf(&text, err, "%u", (unsigned)review->files[i].owner) < 0 ||
		    hash_add(hash, buf_bytes(&text), text.len, err) < 0)
			return -1;
		buf_consume(&text, text.len);
	}
	return hash_end(hash, out, err);
}

/* The list is written in parts of about this many bytes. */
#define PART_BYTES 65536

int review_write_list(const struct review *review, int fd, struct error *err)
{
	autobuf struct buf text = BUF_INIT(0);

	if (buf_append(&text, LIST_HEAD, sizeof(LIST_HEAD), err) < 0)
		return -1;
	for (size_t i = 0; i < review->count; i++) {
		if (add_record(&text, &review->files[i], false, err) < 0)
			return -1;
		if (text.len < PART_BYTES)
			continue;
		if (fd_write_all(fd, buf_bytes(&text), text.len, err) < 0)
			return error_prefix(err, "the list");
		buf_consume(&text, text.len);
	}
	if (buf_printf(&text, err, "end %zu", review->count) < 0 ||
	    buf_append(&text, "", 1, err) < 0)
		return -1;
	return fd_write_all(fd, buf_bytes(&text), text.len, err) < 0 ? error_prefix(err, "the list")
								     : 0;
}

/* --- the contents ---------------------------------------------------------------------------- */

/* Opens a file for reading. A file that was removed or replaced since the walk counts as empty, and
 * its CTIME in the list is 0: so the host's file counts as unchanged only if it is empty too. */
static int open_contents(void *data, struct rootfs_file *file, struct error *err)
{
	struct review *r = data;
	struct review_file *f = &r->files[file->data - 1];
	int fd = file_open_within(r->root, f->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
				  FILE_BELOW);
	struct stat st;

	r->at = 0;
	hash_free(&r->hash);
	r->hash = hash_new(err);
	if (!r->hash) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0) {
		fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return error_errno(err, errno, "/dev/null");
		st = (struct stat){0};
	}
	f->size = file->bytes = (uint64_t)st.st_size;
	f->ino = st.st_ino;
	f->mtime = nanoseconds(file_modified(&st));
	f->ctime = nanoseconds(file_changed(&st));
	return fd;
}

/* Reads the next part of the contents. If the file has become shorter, the rest are zeros. */
static int read_contents(void *data, int fd, void *bytes, size_t len, struct error *err)
{
	struct review *r = data;
	size_t done = 0;

	while (done < len) {
		ssize_t n = pread(fd, (char *)bytes + done, len - done, (off_t)(r->at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "reading a file of the directory");
		if (n == 0)
			break;
		done += (size_t)n;
	}
	memset((char *)bytes + done, 0, len - done);
	r->at += len;
	return hash_add(r->hash, bytes, len, err);
}

static int end_contents(void *data, int fd, const struct rootfs_file *file, struct error *err)
{
	struct review *r = data;
	struct review_file *f = &r->files[file->data - 1];
	struct stat st;

	/* The image has bytes of different moments if the file was changed while it was read, and the
	 * CTIME of a file that was just changed says little. With the CTIME 0, only the contents
	 * tell whether the host's file is as in the image. */
	if (fstat(fd, &st) < 0 || nanoseconds(file_changed(&st)) != f->ctime ||
	    f->ctime >= r->settled)
		f->ctime = 0;
	return hash_end(r->hash, f->digest, err);
}

static uid_t guest_owner(const struct review *r, uid_t owner)
{
	return owner == r->stat.st_uid ? GUEST_USER : owner == 0 ? 0 : NOBODY;
}

static int put_file(struct review *r, size_t i, struct rootfs *fs, struct error *err)
{
	const struct review_file *f = &r->files[i];
	const mode_t kind = f->type == 'd' ? S_IFDIR : f->type == 'l' ? S_IFLNK : S_IFREG;
	/* Set-ID bits of the host's files give no rights in the guest. */
	struct rootfs_file *file = rootfs_file_new(kind | (f->mode & 01777), err);

	if (!file)
		return -1;
	file->uid = file->gid = guest_owner(r, f->owner);
	file->time = f->mtime / (int64_t)NS_PER_S;
	file->nsec = f->mtime < 0 ? 0 : (uint32_t)(f->mtime % (int64_t)NS_PER_S);
	if (kind == S_IFREG) {
		file->bytes = f->size;
		file->data = i + 1;
	}
	if (f->target && !(file->text = strdup(f->target))) {
		rootfs_drop(fs, file);
		return error_errno(err, ENOMEM, "review");
	}
	return rootfs_put(fs, f->path, file, err);
}

int review_fill(struct review *review, struct rootfs *fs, struct rootfs_source *source,
		struct error *err)
{
	struct rootfs_file *root = rootfs_file_new(S_IFDIR | (review->stat.st_mode & 01777), err);

	if (!root)
		return -1;
	root->uid = root->gid = GUEST_USER;
	root->time = file_modified(&review->stat).tv_sec;
	*source = (struct rootfs_source){
		.open = open_contents, .read = read_contents, .end = end_contents, .data = review};
	rootfs_set_source(fs, source);
	if (rootfs_put(fs, "/", root, err) < 0)
		return -1;
	for (size_t i = 0; i < review->count; i++)
		if (review->files[i].type != 's' && put_file(review, i, fs, err) < 0)
			return -1;
	return 0;
}
