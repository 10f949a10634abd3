/* SPDX-License-Identifier: MIT */
/*
 * Takes write access away from the user `agent`: to files that the user owns, to files that its
 * groups can write, and to files that all users can write. Symbolic links are skipped, since the
 * mode of a link has no effect. Mounted file systems such as /proc are skipped too, since they are
 * not stored in the base.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "base/print_safe.h"
#include "guest/files/account.h"
#include "guest/job/users.h"

#define OPEN_DIRECTORIES 32
#define LISTED_MAX 200

/* The data of the callback function. The variable is static, since nftw() passes no data pointer to
 * the callback. */
static struct {
	struct user user;
	const char *root;
	char open[3][USER_PATH_MAX]; /* directories to which the user may still write */
	size_t listed;
	int errnum;
} walk;

static bool is_his(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(walk.open); i++)
		if (strcmp(path, walk.open[i]) == 0)
			return true;
	return false;
}

static bool is_of_his_groups(gid_t gid)
{
	if (gid == walk.user.gid)
		return true;
	for (size_t i = 0; i < walk.user.ngroups; i++)
		if (walk.user.groups[i] == gid)
			return true;
	return false;
}

static void list_confined(const char *path)
{
	if (walk.listed++ >= LISTED_MAX)
		return;
	/* print_safe() escapes newlines. Otherwise a path with a newline could forge a line of the
	 * output. */
	print_safe(stdout, path);
	putchar('\n');
}

static int visit(const char *path, const struct stat *st, int type, struct FTW *at)
{
	mode_t mode = st->st_mode & 07777, kept = mode & ~(mode_t)S_IWOTH;
	bool owned = st->st_uid == walk.user.uid;

	(void)at;
	if (type == FTW_SL || type == FTW_SLN || type == FTW_NS)
		return FTW_CONTINUE;
	if (is_his(path))
		return type == FTW_D ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
	if (is_of_his_groups(st->st_gid))
		kept &= ~(mode_t)S_IWGRP;
	if (!owned && kept == mode)
		return FTW_CONTINUE;
	list_confined(path);
	/* The file now belongs to root, and its setuid bit is cleared. Otherwise the program would
	 * now run with root's rights instead of the user's. */
	if (owned && S_ISREG(st->st_mode))
		kept &= ~(mode_t)(S_ISUID | S_ISGID);
	if ((owned && lchown(path, 0, (gid_t)-1) < 0) || chmod(path, kept) < 0) {
		walk.errnum = errno;
		return FTW_STOP;
	}
	return FTW_CONTINUE;
}

static int set_open(size_t i, const char *path, struct error *err)
{
	bool slash = walk.root[strlen(walk.root) - 1] == '/';
	int n = snprintf(walk.open[i], sizeof(walk.open[i]), "%s%s", walk.root, path + slash);

	return n > 0 && (size_t)n < sizeof(walk.open[i])
		       ? 0
		       : error_set(
				 err, ERR_INVALID,
				 "the path %.200s is too long for the guest's program that edits accounts: this is a bug of microagent",
				 path);
}

int account_confine(char **words, struct error *err)
{
	autofree char *etc = path_join(words[0], "etc", err);

	walk.root = words[0];
	if (!etc || user_resolve(etc, USER_DEFAULT_NAME, &walk.user, err) < 0 ||
	    set_open(0, "/workspace", err) < 0 || set_open(1, "/tmp", err) < 0 ||
	    set_open(2, walk.user.home, err) < 0)
		return -1;
	/* Usually all users may write to /var/tmp, so /var/tmp is replaced by a link to /tmp. If
	 * /var/tmp is not empty, it is kept, and loses the write access like any other
	 * directory. */
	autofree char *var_tmp = path_join(walk.root, "var/tmp", NULL);
	if (var_tmp && rmdir(var_tmp) == 0 && symlink("/tmp", var_tmp) == 0)
		list_confined(var_tmp);
	if (nftw(walk.root, visit, OPEN_DIRECTORIES, FTW_PHYS | FTW_MOUNT | FTW_ACTIONRETVAL) < 0)
		walk.errnum = errno;
	if (walk.errnum)
		return error_errno(err, walk.errnum, "the files of %s", walk.root);
	if (walk.listed > LISTED_MAX)
		printf("and %zu more\n", walk.listed - LISTED_MAX);
	return fflush(stdout) == 0 ? 0 : error_errno(err, errno, "stdout");
}
