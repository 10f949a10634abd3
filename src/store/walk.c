/* SPDX-License-Identifier: MIT */
#include "store/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/platform/file.h"
#include "store/internal.h"

#define LINKS_MAX 40 /* the largest number of links in a path, as on Linux: path_resolution(7) */

int walk_begin(struct walk *walk, int from, const char *path, struct error *err)
{
	*walk = (struct walk){.rest = strdup(path)};
	walk->at = from < 0 ? file_open_place(AT_FDCWD, "/", 0) : file_open_place(from, ".", 0);
	return walk->at >= 0 && walk->rest
		       ? 0
		       : error_errno(err, walk->rest ? errno : ENOMEM, "%s", path);
}

void walk_end(struct walk *walk)
{
	cleanup_close(&walk->at);
	free(walk->rest);
	walk->rest = NULL;
}

char *walk_next_name(struct walk *walk)
{
	char *from = walk->rest + strspn(walk->rest, "/");
	size_t len = strcspn(from, "/");
	char *name = len > 0 ? strndup(from, len) : NULL;

	memmove(walk->rest, from + len, strlen(from + len) + 1);
	return name;
}

bool walk_is_over(const struct walk *walk)
{
	return !walk->rest[strspn(walk->rest, "/")];
}

void walk_stand_at(struct walk *walk, int place)
{
	cleanup_close(&walk->at);
	walk->at = place;
}

int walk_follow(struct walk *walk, const char *name, struct error *err)
{
	autofree char *behind = walk->rest;
	char target[PATH_MAX];
	ssize_t len = readlinkat(walk->at, name, target, sizeof(target) - 1);
	autobuf struct buf rest = BUF_INIT(0);
	int top;

	walk->rest = NULL;
	if (len < 0 || ++walk->links > LINKS_MAX)
		return error_errno(err, len < 0 ? errno : ELOOP, "%s", name);
	target[len] = '\0';
	if (buf_printf(&rest, err, "%s/%s", target, behind) < 0)
		return -1;
	walk->rest = buf_steal_string(&rest, err);
	if (!walk->rest || *target != '/')
		return walk->rest ? 0 : -1;
	top = file_open_place(AT_FDCWD, "/", 0);
	if (top < 0)
		return error_errno(err, errno, "/");
	walk_stand_at(walk, top);
	return 0;
}

static bool is_ours_or_roots(const struct stat *st)
{
	return st->st_uid == geteuid() || st->st_uid == 0;
}

bool walk_trusts_dir(int dir, const struct stat *st)
{
	return is_ours_or_roots(st) || dir_is_nameless_roots(dir, st);
}

bool walk_trusts_link(int dir, const struct stat *link)
{
	struct stat st;

	if (is_ours_or_roots(link))
		return true;
	/* If the user namespace does not contain the link's owner, the link may belong to root.
	 * Such a link is trusted only if its directory counts as a directory of root, and only its
	 * owner can write in this directory. Otherwise any user may have made the link, even in a
	 * sticky directory. */
	return fstat(dir, &st) == 0 && st.st_uid == link->st_uid &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH)) && dir_is_nameless_roots(dir, &st);
}
