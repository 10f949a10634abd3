/* SPDX-License-Identifier: MIT */
/* Describes a file, or the entries of a directory, for the host. Runs with the rights of the user
 * whom the request names. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fd.h"
#include "guest/files/file_record.h"
#include "guest/roles.h"

#define FLUSH_BYTES 65536

struct names {
	char **items;
	size_t count, room;
	bool more; /* the directory has more entries than the request wanted */
};

static int read_names(DIR *dir, const char *path, size_t most, struct names *names,
		      struct error *err)
{
	const struct dirent *entry;

	while (errno = 0, (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (names->count >= most) {
			names->more = true;
			return 0;
		}
		if (names->count == names->room) {
			size_t room = names->room ? names->room * 2 : 64;
			char **grown = reallocarray(names->items, room, sizeof(*grown));

			if (!grown)
				return error_errno(err, ENOMEM, "directory");
			names->items = grown;
			names->room = room;
		}
		names->items[names->count] = strdup(entry->d_name);
		if (!names->items[names->count])
			return error_errno(err, ENOMEM, "directory");
		names->count++;
	}
	return errno ? error_errno(err, errno, "%.300s", path) : 0;
}

static int flush_records(struct buf *records, struct error *err)
{
	if (fd_write_all(STDOUT_FILENO, buf_bytes(records), records->len, err) < 0)
		return -1;
	buf_consume(records, records->len);
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int tell_names(int dir, struct names *names, struct error *err)
{
	autobuf struct buf records = {0};
	struct stat st;

	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), by_bytes);
	for (size_t i = 0; i < names->count; i++) {
		/* Skips a file that was removed after it was listed, or that the user may not
		 * stat. */
		if (fstatat(dir, names->items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (file_record_put(&records, names->items[i], &st, err) < 0 ||
		    (records.len >= FLUSH_BYTES && flush_records(&records, err) < 0))
			return -1;
	}
	if (names->more && file_record_put_more(&records, err) < 0)
		return -1;
	return flush_records(&records, err);
}

static int list_directory(const char *path, size_t most, struct error *err)
{
	struct names names = {0};
	autodir DIR *dir = opendir(path);
	int got;

	if (!dir)
		return error_errno(err, errno, "%.300s", path);
	got = read_names(dir, path, most, &names, err);
	if (got == 0)
		got = tell_names(dirfd(dir), &names, err);
	for (size_t i = 0; i < names.count; i++)
		free(names.items[i]);
	free(names.items);
	return got;
}

/* Returns the last component of a path, or "/" for the path "/". The caller frees the result. */
static char *last_name(const char *path)
{
	size_t end = strlen(path), start;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	return start == end ? strdup("/") : strndup(path + start, end - start);
}

static int look_at(const char *path, struct error *err)
{
	autofree char *name = last_name(path);
	autobuf struct buf record = {0};
	struct stat st;

	if (!name)
		return error_errno(err, ENOMEM, "name");
	if (stat(path, &st) < 0)
		return error_errno(err, errno, "%.300s", path);
	if (file_record_put(&record, name, &st, err) < 0)
		return -1;
	return flush_records(&record, err);
}

static int end_look(int got, const struct error *err)
{
	if (got < 0)
		dprintf(STDERR_FILENO, "%s", err->msg);
	return got < 0 ? 1 : 0;
}

int role_list(int argc, char **argv)
{
	struct error err = {0};

	return argc == 3 ? end_look(list_directory(argv[1], strtoul(argv[2], NULL, 10), &err), &err)
			 : 125;
}

int role_stat(int argc, char **argv)
{
	struct error err = {0};

	return argc == 2 ? end_look(look_at(argv[1], &err), &err) : 125;
}
