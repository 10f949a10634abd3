/* SPDX-License-Identifier: MIT */
#include "guest/files/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/file.h"
#include "base/tree/tree_stream.h"
#include "guest/files/walk.h"
#include "guest/job/users.h"

struct reading {
	const char *root;
	/* The path of the first link of another user that was followed. "" if there was no such
	 * link. */
	char link[PATH_MAX];
};

static int follow_as_owner(void *data, const char *path, const struct stat *link,
			   const struct stat *dir, struct error *err)
{
	struct reading *reading = data;
	char etc[PATH_MAX], uid[16];
	struct user user;

	(void)dir;
	if (link->st_uid == geteuid() || (link->st_uid == 0 && geteuid() != 0))
		return 0;
	if (reading->link[0])
		return error_set(
			err, ERR_DENIED,
			"%.200s and %.200s in the guest are links of different users, and no user has the rights of both: name a path without these links",
			reading->link, path);
	snprintf(etc, sizeof(etc), "%s/etc", reading->root);
	snprintf(uid, sizeof(uid), "%u", (unsigned)link->st_uid);
	if (user_resolve(etc, uid, &user, err) < 0)
		return -1;
	if (user_become(&user) < 0)
		return error_errno(err, errno, "user %s", uid);
	snprintf(reading->link, sizeof(reading->link), "%s", path);
	return 0;
}

/* Adds to the error which link was followed. The output was read with the rights of the user who
 * owns that link, and those rights may be the reason of the error. Returns -1. */
static int name_link(const struct reading *reading, struct error *err)
{
	return reading->link[0]
		       ? error_prefix(
				 err,
				 "%.200s is a link of the guest's user %u and was followed with the rights of this user",
				 reading->link, (unsigned)geteuid())
		       : -1;
}

/* Finds the declared output of the guest, and checks that this process may read it. */
static int find_output(int root, const char *path, struct reading *reading, struct walked *found,
		       struct error *err)
{
	const struct walk_rule rule = {.follow = follow_as_owner, .data = reading};

	if (walk_path(root, path, &rule, found, err) < 0)
		return name_link(reading, err);
	autoclose int fd = file_reopen(found->fd, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0)
		return 0;
	error_errno(err, errno, "%.300s", found->path);
	cleanup_close(&found->fd);
	return name_link(reading, err);
}

int output_send(const char *root_path, const char *path, struct error *err)
{
	const struct tree_line line = {.fd = STDOUT_FILENO, .cancel = -1};
	struct reading reading = {.root = root_path};
	struct walked found;
	autoclose int root = open(root_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (root < 0)
		error_errno(err, errno, "%s", root_path);
	if (root < 0 || find_output(root, path, &reading, &found, err) < 0) {
		tree_answer(STDOUT_FILENO, err);
		return -1;
	}
	close(found.fd);
	return tree_send(root, found.path, true, &line, err);
}
