/* SPDX-License-Identifier: MIT */
/* Creates the user `agent`. This code edits the files of /etc itself, since an image may not have
 * programs such as useradd. */
#include "guest/files/account.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "guest/files/account_lines.h"
#include "guest/job/users.h"

#define DATABASE_MAX (1u << 20)
#define HOME "home/" USER_DEFAULT_NAME

/* --- files of /etc --------------------------------------------------------------------------- */

/* Adds the line to a file of /etc, and keeps the mode and owner of the file. If the file is
 * missing, creates it from the text `otherwise` and the line. If the file is missing and
 * `otherwise` is NULL, does nothing. */
static int add_account_line(int etc, const char *file, const struct account_line *line,
			    const char *otherwise, struct error *err)
{
	autobuf struct buf text = BUF_INIT(DATABASE_MAX);
	struct stat st = {.st_mode = S_IFREG | 0644};
	autofree char *edited = NULL;

	if (fstatat(etc, file, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno != ENOENT)
			return error_errno(err, errno, "/etc/%s", file);
		if (!otherwise)
			return 0;
		if (buf_append(&text, otherwise, strlen(otherwise), err) < 0)
			return -1;
	} else if (path_read_file_at(etc, file, &text, err) < 0) {
		return error_prefix(err, "/etc/%s", file);
	}
	edited = account_lines_add(buf_string(&text), line, err);
	if (!edited)
		return error_prefix(err, "/etc/%s", file);
	if (strcmp(edited, buf_string(&text)) == 0)
		return 0;
	if (path_replace_file_at(etc, file, edited, strlen(edited), st.st_mode & 07777, PATH_SYNC,
				 err) < 0)
		return -1;
	if (fchownat(etc, file, st.st_uid, st.st_gid, AT_SYMLINK_NOFOLLOW) < 0)
		return error_errno(err, errno, "/etc/%s", file);
	return 0;
}

static int add_lines(int root, int etc, struct error *err)
{
	struct stat st;
	bool has_bash = fstatat(root, "bin/bash", &st, 0) == 0;
	char passwd[128];
	const struct account_line lines[] = {
		{USER_DEFAULT_NAME, passwd, USER_DEFAULT_UID},
		{USER_DEFAULT_NAME, "agent:x:1000:", USER_DEFAULT_UID},
		{USER_DEFAULT_NAME, "agent:*:18262:0:99999:7:::", ACCOUNT_NO_ID},
	};

	snprintf(passwd, sizeof(passwd), "agent:x:1000:1000:agent:/" HOME ":%s",
		 has_bash ? "/bin/bash" : "/bin/sh");
	if (add_account_line(etc, "passwd", &lines[0], "root:x:0:0:root:/root:/bin/sh\n", err) <
		    0 ||
	    add_account_line(etc, "group", &lines[1], "root:x:0:\n", err) < 0)
		return -1;
	return add_account_line(etc, "shadow", &lines[2], NULL, err);
}

/* --- directories ----------------------------------------------------------------------------- */

/* Creates a directory if it is missing, and sets its owner, group and mode. `path` is relative to
 * `root`. */
static int own_directory(int root, const char *path, mode_t mode, uid_t owner, struct error *err)
{
	autoclose int fd = path_open_dir_at(root, path, true, mode, err);

	if (fd < 0)
		return -1;
	if (fchown(fd, owner, owner) < 0 || fchmod(fd, mode) < 0)
		return error_errno(err, errno, "/%s", path);
	return 0;
}

static int make_directories(int root, const char *etc_path, struct error *err)
{
	const char *home;
	char *slash;
	struct user user;

	if (user_resolve(etc_path, USER_DEFAULT_NAME, &user, err) < 0)
		return -1;
	if (user.home[0] != '/' || strcmp(user.home, "/") == 0 || strstr(user.home, "/../"))
		return error_set(
			err, ERR_CONFLICT,
			"the home of the image's user " USER_DEFAULT_NAME
			" is %.200s, and must be an absolute path other than /: correct /etc/passwd of the image",
			user.home);
	home = user.home + 1;
	autofree char *parent = strdup(home);
	if (!parent)
		return error_errno(err, ENOMEM, "/%s", home);
	slash = strrchr(parent, '/');
	if (slash) {
		*slash = '\0';
		autoclose int fd = path_open_dir_at(root, parent, true, 0755, err);
		if (fd < 0)
			return -1;
	}
	if (own_directory(root, home, 0755, USER_DEFAULT_UID, err) < 0 ||
	    own_directory(root, "workspace", 0755, USER_DEFAULT_UID, err) < 0)
		return -1;
	return own_directory(root, "tmp", 01777, 0, err);
}

int account_make(char **words, struct error *err)
{
	autoclose int root = open(words[0], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	autofree char *etc_path = path_join(words[0], "etc", err);
	autoclose int etc = -1;

	if (root < 0)
		return error_errno(err, errno, "%s", words[0]);
	etc = etc_path ? path_open_dir_at(root, "etc", true, 0755, err) : -1;
	if (etc < 0 || add_lines(root, etc, err) < 0)
		return -1;
	return make_directories(root, etc_path, err);
}
