/* SPDX-License-Identifier: MIT */
#include "api/share_git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/path.h"

#define GITDIR "gitdir: "
#define LINE_MAX_BYTES 8192u

void share_git_free(struct share_git *git)
{
	free(git->common);
	free(git->place);
	*git = (struct share_git){0};
}

/* The first line of a file, malloc'd; NULL where there is no such regular file. */
static char *read_line(const char *dir, const char *name)
{
	autobuf struct buf text = BUF_INIT(LINE_MAX_BYTES);
	autofree char *path = path_join(dir, name, NULL);
	autoclose int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC) : -1;
	struct stat st;
	char *line;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fd_read_to_end(fd, &text, NULL) < 0)
		return NULL;
	line = buf_steal_string(&text, NULL);
	if (line)
		line[strcspn(line, "\r\n")] = '\0';
	return line;
}

/* Takes ".." and what it leads back from out of an absolute path, as if there were no links. */
static void drop_dots(char *path)
{
	char *to = path, *next;

	for (char *from = path + strspn(path, "/"); *from; from = next) {
		size_t len = strcspn(from, "/");

		next = from + len + strspn(from + len, "/");
		if (len == 2 && strncmp(from, "..", 2) == 0) {
			while (to > path && *--to != '/')
				;
			continue;
		}
		if (len == 1 && *from == '.')
			continue;
		*to++ = '/';
		memmove(to, from, len);
		to += len;
	}
	if (to == path)
		*to++ = '/';
	*to = '\0';
}

/* A path that is said in the directory `from`, of the guest: nobody here can look. */
static char *follow_in_guest(const char *from, const char *said, struct error *err)
{
	char *whole = *said == '/' ? strdup(said) : path_join(from, said, err);

	if (whole)
		drop_dots(whole);
	return whole;
}

/* The same of the host. NULL: it leads nowhere. */
static char *follow(const char *from, const char *said)
{
	autofree char *whole = *said == '/' ? strdup(said) : path_join(from, said, NULL);

	return whole ? realpath(whole, NULL) : NULL;
}

static bool is_same_file(const char *a, const char *b)
{
	struct stat one, other;

	return stat(a, &one) == 0 && stat(b, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

static bool is_below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	return strncmp(path, dir, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

/* The repository's own word on where this worktree is. */
static bool leads_back(const char *dir, const char *gitdir)
{
	autofree char *said = read_line(gitdir, "gitdir");
	autofree char *back = said ? follow(gitdir, said) : NULL;
	autofree char *own = path_join(dir, ".git", NULL);

	return back && own && is_same_file(back, own);
}

static int refuse(const char *dir, const char *said, struct error *err)
{
	return error_set(err, ERR_INVALID,
			 "%.200s/.git leads to %.200s, which is no worktree's of a repository that "
			 "leads back there: it is not shared along",
			 dir, said);
}

/* <common>/worktrees/<name> is where git has what is a worktree's own. A common directory that is
 * further up is none: what is shared would be another's word. */
static bool is_admin_of(const char *gitdir, const char *common)
{
	static const char worktrees[] = "/worktrees/";
	size_t len = strlen(common);
	const char *name = gitdir + len + strlen(worktrees);

	return strncmp(gitdir, common, len) == 0 &&
	       strncmp(gitdir + len, worktrees, strlen(worktrees)) == 0 && *name &&
	       !strchr(name, '/');
}

static int find_common(const char *gitdir, const char *guest_gitdir, struct share_git *out,
		       struct error *err)
{
	autofree char *said = read_line(gitdir, "commondir");
	autofree char *common = said ? follow(gitdir, said) : NULL;
	autofree char *place = said ? follow_in_guest(guest_gitdir, said, err) : NULL;

	if (!common || !place || !is_admin_of(gitdir, common) || !is_admin_of(guest_gitdir, place))
		return -1;
	*out = (struct share_git){.common = steal_ptr(&common), .place = steal_ptr(&place)};
	return 0;
}

/* said: the path in dir/.git. */
static int find_outside(const char *dir, const char *mountpoint, const char *said,
			struct share_git *out, struct error *err)
{
	autofree char *real = realpath(dir, NULL);
	autofree char *gitdir = real ? follow(real, said) : NULL;
	autofree char *guest_gitdir = follow_in_guest(mountpoint, said, err);

	if (!gitdir || !guest_gitdir)
		return 0; /* git does not work on the host either */
	/* The guest has it, or could have made it: then it is nobody's word on anything else. */
	if (is_below(gitdir, real))
		return 0;
	if (!leads_back(real, gitdir) || find_common(gitdir, guest_gitdir, out, NULL) < 0)
		return refuse(dir, said, err);
	return 0;
}

int share_git_find(const char *dir, const char *mountpoint, struct share_git *out,
		   struct error *err)
{
	autofree char *line = read_line(dir, ".git");

	*out = (struct share_git){0};
	if (!line || strncmp(line, GITDIR, strlen(GITDIR)) != 0)
		return 0;
	return find_outside(dir, mountpoint, line + strlen(GITDIR), out, err);
}

/* --- added ----------------------------------------------------------------------------------- */

/* Two worktrees of one repository need it once. */
static bool is_there(const json_t *shares, const struct share_git *git)
{
	const json_t *share;
	size_t i;

	json_array_foreach(shares, i, share)
	{
		if (strcmp(json_text(share, "path", ""), git->common) == 0 &&
		    strcmp(json_text(share, "mountpoint", ""), git->place) == 0)
			return true;
	}
	return false;
}

/* What git keeps in its common directory it replaces under a lock file, and reads under that lock. A
 * guest that kept names would read there what the host has replaced meanwhile, and undo it. */
static int put_no_cache(json_t *share, struct error *err)
{
	if (json_object_get(share, "cache") || json_object_get(share, "timeoutSeconds"))
		return 0;
	return json_put_string(share, "cache", "none", err);
}

static json_t *common_share(json_t *share, const struct share_git *git, size_t number,
			    struct error *err)
{
	json_auto_t *own = json_copy(share);
	char tag[24];

	snprintf(tag, sizeof(tag), "git-%zu", number);
	if (json_put_string(own, "tag", tag, err) < 0 || put_no_cache(own, err) < 0 ||
	    json_put_string(own, "mountpoint", git->place, err) < 0)
		return NULL;
	if (json_put_string(own, "path", git->common, NULL) < 0) {
		error_set(err, ERR_INVALID, "%s: a path must be UTF-8", git->common);
		return NULL;
	}
	return json_incref(own);
}

int share_git_add(json_t *shares, struct error *err)
{
	size_t count = json_array_size(shares), number = 0;

	for (size_t i = 0; i < count; i++) {
		json_t *share = json_array_get(shares, i);
		auto_share_git struct share_git git = {0};
		json_t *common;

		if (share_git_find(json_text(share, "path", ""), json_text(share, "mountpoint", ""),
				   &git, err) < 0)
			return error_prefix(err, "config.shares[%zu]", i);
		if (!git.common || is_there(shares, &git))
			continue;
		common = common_share(share, &git, ++number, err);
		if (!common)
			return -1;
		if (json_array_append_new(shares, common) < 0)
			return error_errno(err, ENOMEM, "share");
	}
	return 0;
}
