/* SPDX-License-Identifier: MIT */
/*
 * The command review-extract takes files out of the image of a reviewed directory (review.h). The
 * paths are sorted first. So each directory of the image is read once, however many of its files are
 * taken.
 */
#include <errno.h>
#include <ext2fs/ext2fs.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "artifact/artifact.h"
#include "artifact/review.h"
#include "base/array.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/limits.h"
#include "base/path.h"

#define CHUNK (1u << 17)
#define LEVELS 256

/* A name in a directory of the image. */
struct found_name {
	char *name;
	ext2_ino_t inode;
};

/* A directory of the image that is open. */
struct level {
	size_t end; /* the length of its path */
	int to;	    /* the same directory on the host */
	struct found_name *names;
	size_t count, room;
	bool failed; /* there was no memory for a name */
};

struct extraction {
	ext2_filsys fs;
	uint8_t *chunk;
	struct level levels[LEVELS];
	size_t depth;
	const char *last; /* the path whose directories are open */
};

static int image_failed(errcode_t code, const char *path, struct error *err)
{
	if (code < EXT2_ET_BASE)
		return error_errno(err, (int)code, "the image of the reviewed directory%s%.300s",
				   *path ? ": " : "", path);
	return error_set(
		err, ERR_IO,
		"the image of the reviewed directory is damaged (%.300s, error %ld of libext2fs): make the machine again",
		*path ? path : "its head", code);
}

static int compare_found(const void *a, const void *b)
{
	return strcmp(((const struct found_name *)a)->name, ((const struct found_name *)b)->name);
}

static int note_name(ext2_ino_t dir, int entry, struct ext2_dir_entry *found, int offset,
		     int block_size, char *block, void *data)
{
	struct level *level = data;
	const size_t len = (size_t)ext2fs_dirent_name_len(found);

	(void)dir, (void)entry, (void)offset, (void)block_size, (void)block;
	if (level->count == level->room) {
		size_t more = level->room ? 2 * level->room : 64;
		struct found_name *names = array_resize(level->names, more, sizeof(*names));

		if (!names) {
			level->failed = true;
			return DIRENT_ABORT;
		}
		level->names = names;
		level->room = more;
	}
	level->names[level->count] =
		(struct found_name){.name = strndup(found->name, len), .inode = found->inode};
	if (!level->names[level->count].name) {
		level->failed = true;
		return DIRENT_ABORT;
	}
	level->count++;
	return 0;
}

static void close_level(struct level *level)
{
	for (size_t i = 0; i < level->count; i++)
		free(level->names[i].name);
	free(level->names);
	close(level->to);
}

/* Opens a directory of the image. Takes over `to`. */
static int push(struct extraction *x, ext2_ino_t inode, int to, size_t end, struct error *err)
{
	struct level level = {.end = end, .to = to};
	errcode_t code;

	if (x->depth == LEVELS) {
		close(to);
		return error_set(err, ERR_INVALID,
				 "a path has more than %d directories: give a shorter one", LEVELS);
	}
	code = ext2fs_dir_iterate2(x->fs, inode, 0, NULL, note_name, &level);
	if (code != 0 || level.failed) {
		close_level(&level);
		return code ? image_failed(code, "a directory", err)
			    : error_errno(err, ENOMEM, "names");
	}
	if (level.count > 0)
		qsort(level.names, level.count, sizeof(*level.names), compare_found);
	x->levels[x->depth++] = level;
	return 0;
}

/* Finds a name of the last open directory. Returns 0 if there is none. */
static ext2_ino_t find(const struct extraction *x, const char *name, size_t len)
{
	const struct level *level = &x->levels[x->depth - 1];
	char text[NAME_MAX + 1];
	struct found_name key = {.name = text};
	const struct found_name *found;

	if (len == 0 || len > NAME_MAX || level->count == 0 || (len == 1 && name[0] == '.') ||
	    (len == 2 && name[0] == '.' && name[1] == '.'))
		return 0;
	memcpy(text, name, len);
	text[len] = '\0';
	found = bsearch(&key, level->names, level->count, sizeof(key), compare_found);
	return found ? found->inode : 0;
}

static int write_file(struct extraction *x, ext2_ino_t number, int dir, const char *name,
		      struct error *err)
{
	autoclose int fd =
		openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	ext2_file_t file;
	errcode_t code;

	if (fd < 0)
		return error_errno(err, errno, "%.300s", name);
	code = ext2fs_file_open(x->fs, number, 0, &file);
	if (code != 0)
		return image_failed(code, name, err);
	for (;;) {
		unsigned got = 0;

		code = ext2fs_file_read(file, x->chunk, CHUNK, &got);
		if (code != 0 || got == 0)
			break;
		if (fd_write_all(fd, x->chunk, got, err) < 0 || artifact_check_signal(err) < 0) {
			ext2fs_file_close(file);
			return error_prefix(err, "%.300s", name);
		}
	}
	ext2fs_file_close(file);
	return code ? image_failed(code, name, err) : 0;
}

static int write_link(struct extraction *x, ext2_ino_t number, struct ext2_inode *inode, int dir,
		      const char *name, struct error *err)
{
	char target[PATH_MAX + 1] = "";
	ext2_file_t file;
	errcode_t code;
	unsigned got = 0;

	if (EXT2_I_SIZE(inode) > PATH_MAX)
		return image_failed(EXT2_ET_BAD_INODE_NUM, name, err);
	if (ext2fs_is_fast_symlink(inode)) {
		memcpy(target, inode->i_block, EXT2_I_SIZE(inode));
	} else {
		code = ext2fs_file_open(x->fs, number, 0, &file);
		if (code != 0)
			return image_failed(code, name, err);
		code = ext2fs_file_read(file, target, PATH_MAX, &got);
		ext2fs_file_close(file);
		if (code != 0)
			return image_failed(code, name, err);
	}
	return symlinkat(target, dir, name) < 0 ? error_errno(err, errno, "%.300s", name) : 0;
}

/* Goes down to the directory of `path`. Returns 1, or 0 if the image does not have it. *name becomes
 * the last name of the path. */
static int go_to(struct extraction *x, const char *path, const char **name, struct error *err)
{
	const char *at, *slash;

	while (x->depth > 1) {
		size_t end = x->levels[x->depth - 1].end;

		if (strncmp(path, x->last, end) == 0 && path[end] == '/')
			break;
		close_level(&x->levels[--x->depth]);
	}
	x->last = path;
	at = path + x->levels[x->depth - 1].end;
	at += *at == '/' && at != path;
	for (; (slash = strchr(at, '/')); at = slash + 1) {
		const size_t len = (size_t)(slash - at);
		ext2_ino_t number = find(x, at, len);
		char text[NAME_MAX + 1];
		struct ext2_inode inode;
		errcode_t code;
		int to;

		if (number == 0)
			return 0;
		code = ext2fs_read_inode(x->fs, number, &inode);
		if (code != 0)
			return image_failed(code, path, err);
		if (!LINUX_S_ISDIR(inode.i_mode))
			return 0;
		memcpy(text, at, len);
		text[len] = '\0';
		to = path_open_dir_at(x->levels[x->depth - 1].to, text, true, 0700, err);
		if (to < 0 || push(x, number, to, (size_t)(slash - path), err) < 0)
			return -1;
	}
	*name = at;
	return 1;
}

static int extract_path(struct extraction *x, const char *path, struct error *err)
{
	const char *name = NULL;
	struct ext2_inode inode;
	ext2_ino_t number;
	errcode_t code;
	int there = go_to(x, path, &name, err), to;

	if (there <= 0)
		return there;
	number = find(x, name, strlen(name));
	if (number == 0)
		return 0;
	code = ext2fs_read_inode(x->fs, number, &inode);
	if (code != 0)
		return image_failed(code, path, err);
	to = x->levels[x->depth - 1].to;
	if (LINUX_S_ISREG(inode.i_mode))
		return write_file(x, number, to, name, err);
	if (LINUX_S_ISLNK(inode.i_mode))
		return write_link(x, number, &inode, to, name, err);
	if (!LINUX_S_ISDIR(inode.i_mode))
		return 0;
	autoclose int made = path_open_dir_at(to, name, true, 0700, err);
	return made < 0 ? -1 : 0;
}

static int compare_paths(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int review_take_out(int image, int to, const char *paths, size_t len, struct error *err)
{
	autofree struct extraction *x = calloc(1, sizeof(*x));
	autofree uint8_t *chunk = malloc(CHUNK);
	autofree const char **sorted = NULL;
	char name[32];
	errcode_t code;
	size_t count = 0;
	int status, dir;

	if (len > 0 && paths[len - 1] != '\0')
		return error_set(err, ERR_INVALID,
				 "the list of paths has no NUL byte at its end: end each path so");
	for (size_t i = 0; i < len; i++)
		count += paths[i] == '\0';
	sorted = calloc(count + 1, sizeof(*sorted));
	if (!x || !chunk || !sorted)
		return error_errno(err, ENOMEM, "paths");
	for (size_t i = 0; i < count; i++, paths += strlen(paths) + 1)
		sorted[i] = paths;
	if (count > 0)
		qsort(sorted, count, sizeof(*sorted), compare_paths);
	dir = openat(to, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return error_errno(err, errno, "the directory to write to");
	snprintf(name, sizeof(name), "/proc/self/fd/%d", image);
	x->chunk = chunk;
	code = ext2fs_open2(name, NULL, EXT2_FLAG_64BITS, 0, 0, unix_io_manager, &x->fs);
	if (code != 0) {
		close(dir);
		return image_failed(code, "", err);
	}
	status = push(x, EXT2_ROOT_INO, dir, 0, err);
	for (size_t i = 0; i < count && status == 0; i++) {
		/* A path that comes twice would meet its own file. */
		if (i > 0 && strcmp(sorted[i - 1], sorted[i]) == 0)
			continue;
		status = artifact_check_signal(err) < 0 ? -1 : extract_path(x, sorted[i], err);
	}
	while (x->depth > 0)
		close_level(&x->levels[--x->depth]);
	ext2fs_free(x->fs);
	return status;
}

int artifact_review_extract(const struct artifact_options *opts, struct error *err)
{
	autobuf struct buf paths = BUF_INIT((size_t)limit_get(LIMIT_REVIEW_CLAIMS_BYTES));
	int image, to;

	if (!opts->from_fd || !opts->fd)
		return error_set(
			err, ERR_INVALID,
			"review-extract needs --from-fd N and --fd N, the numbers of two open descriptors");
	image = artifact_open_from(opts, err);
	to = image < 0 ? -1 : artifact_fd(opts, err);
	if (to < 0)
		return -1;
	if (fd_read_to_end(STDIN_FILENO, &paths, err) < 0)
		return error_prefix(err, "the list of paths");
	return review_take_out(image, to, buf_string(&paths), paths.len, err);
}
