/* SPDX-License-Identifier: MIT */
/*
 * A stream of files as a hostile sender may make it, received into a directory of its own. Whatever
 * comes, nothing is made or changed beside the target, a failure leaves nothing, and no link leads
 * out. If the input says so, the digest at a file's end is corrected, since few files would arrive
 * otherwise. If the input says so, the stream is that of an upper layer: then files and directories
 * are for their owner alone, and what is told of them fits what is received.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/tree_stream.h"
#include "base/tree/tree_wire.h"
#include "fuzz_directory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A hole has the length that the stream says. */
static int directory(void)
{
	const struct rlimit most = {1 << 20, 1 << 20};

	signal(SIGXFSZ, SIG_IGN);
	if (setrlimit(RLIMIT_FSIZE, &most) < 0)
		abort();
	return fuzz_directory();
}

/* If a link resolves, it resolves to a place below the target. */
static void check_link(int dir, const char *name, const char *top)
{
	char self[64], *resolved, real[4096];
	size_t len = strlen(top);

	snprintf(self, sizeof(self), "/proc/self/fd/%d/%s", dir, name);
	resolved = realpath(self, real);
	if (resolved && (strncmp(real, top, len) != 0 || (real[len] && real[len] != '/')))
		abort();
}

static void check_tree(int fd, const char *top, bool upper)
{
	autodir DIR *dir = fdopendir(fd);
	const struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if ((st.st_mode & 07000) || (upper && (st.st_mode & 0077) && !S_ISLNK(st.st_mode)))
			abort();
		/* The links of an upper layer stay as they are, and lead anywhere. */
		if (S_ISLNK(st.st_mode) && upper)
			continue;
		if (S_ISLNK(st.st_mode))
			check_link(dirfd(dir), entry->d_name, top);
		else if (S_ISDIR(st.st_mode))
			check_tree(openat(dirfd(dir), entry->d_name,
					  O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
				   top, upper);
		else if (!S_ISREG(st.st_mode))
			abort();
	}
}

static void check_outside(int dir)
{
	autodir DIR *list = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int entries = 0;

	if (!fuzz_outside_is_same(dir))
		abort();
	while (list && readdir(list))
		entries++;
	if (entries != 4) /* ".", "..", "outside", "in" */
		abort();
}

static int count_in(int dir)
{
	autodir DIR *list = fdopendir(openat(dir, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int entries = -2;

	while (list && readdir(list))
		entries++;
	return entries;
}

/* Rewrites each 'E' that a walk of the stream finds with the digest that is expected there. */
static void mend_digests(int stream)
{
	autofree struct tree_reader *r = calloc(1, sizeof(*r));
	struct tree_digest *digest = tree_digest_new();
	struct tree_entry *entry = calloc(1, sizeof(*entry));
	struct tree_chunk chunk;
	const uint8_t *bytes;
	uint64_t old;

	*r = (struct tree_reader){.fd = stream, .cancel = -1};
	while (tree_get_entry(r, entry, NULL) == 0) {
		tree_digest_begin(digest);
		while (entry->type == TREE_FILE && tree_get_chunk(r, digest, &chunk, NULL) == 0 &&
		       chunk.kind != TREE_BREAK) {
			uint64_t left = chunk.kind == TREE_DATA ? chunk.length : 0;

			while (left > 0) {
				size_t n = tree_get_data(r, (size_t)left, &bytes, NULL);

				if (n == 0)
					break;
				tree_digest_add(digest, bytes, n);
				left -= n;
			}
			if (left > 0 || chunk.kind == TREE_FILE_END)
				break;
		}
		if (entry->type != TREE_FILE || chunk.kind != TREE_FILE_END)
			continue;
		if (tree_get_digest(r, &old, NULL) == 0) {
			off_t at = lseek(stream, 0, SEEK_CUR) - (off_t)(r->end - r->start) - 8;
			uint8_t right[8];

			for (int i = 0; i < 8; i++)
				right[i] = (uint8_t)(tree_digest_end(digest) >> (56 - 8 * i));
			if (pwrite(stream, right, 8, at) != 8)
				abort();
		}
	}
	free(entry);
	tree_digest_free(digest);
}

/* What was told before. */
struct heard {
	char type;
	char path[TREE_PATH_MAX + 1];
	size_t bytes;
};

static int check_told(void *data, const struct tree_told *told, struct error *err)
{
	struct heard *heard = data;
	size_t texts = strlen(told->path) + strlen(told->text);

	(void)err;
	if (!strchr("fdlhswor", told->type) || (told->mode & ~07777u) ||
	    !tree_path_is_clean(told->path) || (!told->path[0] && told->type != 's'))
		abort();
	if (strchr("or", told->type) &&
	    (heard->type != 'd' || strcmp(heard->path, told->path) != 0))
		abort();
	if (told->type == 'r' ? !tree_redirect_is_clean(told->text)
			      : told->text[0] && !strchr("lhs", told->type))
		abort();
	heard->type = told->type;
	snprintf(heard->path, sizeof(heard->path), "%s", told->path);
	heard->bytes += texts > TREE_ENTRY_BYTES ? texts : TREE_ENTRY_BYTES;
	return 0;
}

#define UPPER_LIMIT (64 * TREE_ENTRY_BYTES)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tree_target target;
	static struct heard heard;
	struct error err = {0};
	int dir = directory(), status;
	char top[128];

	if (size < 1 || size > 65536)
		return 0;
	autoclose int stream = fd_memfd("stream", data + 1, size - 1, &err);
	const bool upper = data[0] & 2;
	const struct tree_line line = {.fd = stream,
				       .cancel = -1,
				       .limit = upper ? UPPER_LIMIT : 0,
				       .overlay = upper,
				       .entry = upper ? check_told : NULL,
				       .entry_data = &heard};

	heard = (struct heard){0};
	if (stream < 0 || mkdirat(dir, "in", 0700) < 0)
		abort();
	if (data[0] & 1)
		mend_digests(stream);
	if (lseek(stream, 0, SEEK_SET) != 0 ||
	    tree_target_open(dir, "in", true, "got", &target, &err) < 0)
		abort();
	status = tree_receive(&line, &target, upper ? NULL : "/src", &err);
	tree_target_close(&target);
	check_outside(dir);
	if (count_in(dir) != (status == 0 ? 1 : 0))
		abort();
	if (heard.bytes > UPPER_LIMIT)
		abort();
	snprintf(top, sizeof(top), "%s/in/got", fuzz_base);
	if (status == 0)
		check_tree(openat(dir, "in", O_RDONLY | O_DIRECTORY | O_CLOEXEC), top, upper);
	if (path_remove_tree_at(dir, "in", &err) < 0)
		abort();
	return 0;
}
