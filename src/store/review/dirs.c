/* SPDX-License-Identifier: MIT */
#include "store/review/dirs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/cleanup.h"

#define READ_PART 65536

/* Names in the order of strcmp(). */
struct names {
	char **names;
	size_t count, room;
};

/* A directory that is open. */
struct review_level {
	int fd;
	size_t end; /* the length of its path */
	bool names_known;
	struct names stored; /* the names that the directory had when they were read */
	struct names made;   /* the names that were made since then */
};

static void free_names(struct names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->names[i]);
	free(names->names);
	*names = (struct names){0};
}

static int add_name(struct names *names, const char *name)
{
	if (names->count == names->room) {
		size_t more = names->room ? 2 * names->room : 32;
		char **list = array_resize(names->names, more, sizeof(*list));

		if (!list)
			return -1;
		names->names = list;
		names->room = more;
	}
	names->names[names->count] = strdup(name);
	return names->names[names->count] ? (names->count++, 0) : -1;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool has_name(const struct names *names, const char *name)
{
	return names->count > 0 &&
	       bsearch(&name, names->names, names->count, sizeof(*names->names), compare_names);
}

static void close_level(struct review_level *level)
{
	close(level->fd);
	free_names(&level->stored);
	free_names(&level->made);
}

/* --- the stack ------------------------------------------------------------------------------- */

/* Adds an open directory. Takes over `fd`. Returns -1 if there is no memory. */
static int push(struct review_dirs *dirs, int fd, size_t end)
{
	if (dirs->depth == dirs->room) {
		size_t more = dirs->room ? 2 * dirs->room : 16;
		struct review_level *levels =
			array_resize(dirs->levels, more, sizeof(*dirs->levels));

		if (!levels) {
			close(fd);
			return -1;
		}
		dirs->levels = levels;
		dirs->room = more;
	}
	dirs->levels[dirs->depth++] = (struct review_level){.fd = fd, .end = end};
	return 0;
}

int review_dirs_begin(struct review_dirs *dirs, int root, const struct review_list *list,
		      struct error *err)
{
	int fd = openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return error_errno(err, errno, "directory");
	if (fstat(fd, &st) < 0) {
		error_errno(err, errno, "directory");
		close(fd);
		return -1;
	}
	*dirs = (struct review_dirs){.root = root, .list = list, .dev = st.st_dev};
	return push(dirs, fd, 0) < 0 ? error_errno(err, ENOMEM, "directory") : 0;
}

void review_dirs_end(struct review_dirs *dirs)
{
	while (dirs->depth > 0)
		close_level(&dirs->levels[--dirs->depth]);
	free(dirs->levels);
	dirs->levels = NULL;
	dirs->room = 0;
}

const char *review_bar_text(enum review_bar bar)
{
	switch (bar) {
	case REVIEW_BAR_NO_DIR:
		return "a directory above it is a link or another file on the host";
	case REVIEW_BAR_MOUNT:
		return "a directory above it is on another file system on the host";
	case REVIEW_BAR_CASE:
		return "the host has a file whose name differs only in letters that its file system takes for the same";
	case REVIEW_BAR_DENIED:
		return "the host's file, or a directory above it, cannot be read";
	default:
		return "a directory above it is missing on the host";
	}
}

/* Reads the names of a directory. Returns -1 on failure. */
static int read_names(struct review_level *level)
{
	int fd = openat(level->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autodir DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	for (errno = 0; (entry = readdir(dir)); errno = 0)
		if (add_name(&level->stored, entry->d_name) < 0)
			return -1;
	if (errno != 0)
		return -1;
	qsort(level->stored.names, level->stored.count, sizeof(*level->stored.names),
	      compare_names);
	level->names_known = true;
	return 0;
}

static enum review_bar check_name(struct review_level *level, const char *name)
{
	if (has_name(&level->made, name))
		return REVIEW_BAR_NONE;
	if (!level->names_known && read_names(level) < 0) {
		free_names(&level->stored);
		return REVIEW_BAR_DENIED;
	}
	return has_name(&level->stored, name) ? REVIEW_BAR_NONE : REVIEW_BAR_CASE;
}

static enum review_bar bar_of(int errnum)
{
	switch (errnum) {
	case ENOENT:
		return REVIEW_BAR_MISSING;
	case ENOTDIR:
	case ELOOP:
	case EMLINK:
		return REVIEW_BAR_NO_DIR;
	default:
		return REVIEW_BAR_DENIED;
	}
}

/* Opens the directory `name` in the last open directory. dirs->path has its path, of `end` bytes. */
static enum review_bar open_next(struct review_dirs *dirs, const char *name, size_t end)
{
	struct review_level *last = &dirs->levels[dirs->depth - 1];
	enum review_bar bar = REVIEW_BAR_NONE;
	struct stat st;
	int fd = openat(last->fd, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size_t at;

	if (fd < 0)
		return bar_of(errno);
	if (fstat(fd, &st) < 0)
		bar = REVIEW_BAR_DENIED;
	else if (st.st_dev != dirs->dev)
		bar = REVIEW_BAR_MOUNT;
	else if (dirs->list) {
		/* The directory of the list has this very name. Only for another directory the names
		 * are read, which takes long if there are many of them. */
		at = review_list_find(dirs->list, dirs->path);
		if (at == REVIEW_NONE || dirs->list->entries[at].ino != (uint64_t)st.st_ino ||
		    dirs->list->entries[at].dev != (uint64_t)st.st_dev)
			bar = check_name(last, name);
	}
	if (bar != REVIEW_BAR_NONE) {
		close(fd);
		return bar;
	}
	return push(dirs, fd, end) < 0 ? REVIEW_BAR_DENIED : REVIEW_BAR_NONE;
}

/* Closes the directories that are not directories of `path`. */
static void keep_common(struct review_dirs *dirs, const char *path)
{
	size_t keep = 1, same = 0;

	while (keep < dirs->depth) {
		size_t end = dirs->levels[keep].end;

		if (strncmp(path + same, dirs->path + same, end - same) != 0 || path[end] != '/')
			break;
		same = end;
		keep++;
	}
	while (dirs->depth > keep)
		close_level(&dirs->levels[--dirs->depth]);
}

enum review_bar review_dirs_open(struct review_dirs *dirs, const char *path, int *dir,
				 const char **name)
{
	const char *slash, *at;

	if (!review_path_is_clean(path))
		return REVIEW_BAR_DENIED;
	keep_common(dirs, path);
	at = path + dirs->levels[dirs->depth - 1].end;
	at += *at == '/' && at != path;
	for (; (slash = strchr(at, '/')); at = slash + 1) {
		const size_t end = (size_t)(slash - path);
		enum review_bar bar;

		memcpy(dirs->path, path, end);
		dirs->path[end] = '\0';
		bar = open_next(dirs, dirs->path + (at - path), end);
		if (bar != REVIEW_BAR_NONE)
			return bar;
	}
	*dir = dirs->levels[dirs->depth - 1].fd;
	*name = at;
	return REVIEW_BAR_NONE;
}

enum review_bar review_dirs_stat(struct review_dirs *dirs, const char *path, struct stat *out)
{
	const char *name = NULL;
	int dir = -1;
	enum review_bar bar = review_dirs_open(dirs, path, &dir, &name);

	if (bar != REVIEW_BAR_NONE)
		return bar;
	if (fstatat(dir, name, out, AT_SYMLINK_NOFOLLOW) == 0)
		return REVIEW_BAR_NONE;
	return errno == ENOENT ? REVIEW_BAR_MISSING : REVIEW_BAR_DENIED;
}

enum review_bar review_dirs_check_name(struct review_dirs *dirs, const char *path)
{
	const char *name = NULL;
	int dir = -1;
	enum review_bar bar = review_dirs_open(dirs, path, &dir, &name);

	return bar != REVIEW_BAR_NONE ? bar : check_name(&dirs->levels[dirs->depth - 1], name);
}

int review_dirs_made(struct review_dirs *dirs, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');

	return add_name(&dirs->levels[dirs->depth - 1].made, slash ? slash + 1 : path) < 0
		       ? error_errno(err, ENOMEM, "%.300s", path)
		       : 0;
}

/* --- contents -------------------------------------------------------------------------------- */

int review_dirs_read(struct review_dirs *dirs, const char *path, enum review_bar *bar)
{
	const char *name = NULL;
	struct stat st;
	int dir = -1;

	*bar = review_dirs_open(dirs, path, &dir, &name);
	if (*bar != REVIEW_BAR_NONE)
		return -1;
	autoclose int fd =
		openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0) {
		*bar = bar_of(errno);
		return -1;
	}
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		*bar = REVIEW_BAR_NO_DIR;
		return -1;
	}
	return steal_fd(&fd);
}

int review_digest_file(int fd, uint8_t digest[SHA256_BYTES], uint64_t *size, struct error *err)
{
	autofree uint8_t *part = malloc(READ_PART);
	struct sha256 sha;
	uint64_t at = 0;

	if (!part)
		return error_errno(err, ENOMEM, "digest");
	sha256_init(&sha);
	for (;;) {
		ssize_t n = pread(fd, part, READ_PART, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_errno(err, errno, "read");
		if (n == 0)
			break;
		sha256_update(&sha, part, (size_t)n);
		at += (uint64_t)n;
	}
	sha256_final(&sha, digest);
	*size = at;
	return 0;
}

void review_digest_bytes(const void *bytes, size_t len, uint8_t digest[SHA256_BYTES])
{
	struct sha256 sha;

	sha256_init(&sha);
	sha256_update(&sha, bytes, len);
	sha256_final(&sha, digest);
}
