/* SPDX-License-Identifier: MIT */
/*
 * Finds the user that a command runs as. The code reads /etc/passwd and /etc/group itself. A static
 * program cannot use the C library's NSS, and the image's NSS modules must not run as root.
 */
#ifndef GUEST_USERS_H
#define GUEST_USERS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define USER_GROUPS_MAX 128
#define USER_NAME_MAX 256
#define USER_PATH_MAX 1024

/* The default user of a command, if the request names no user and the image has recorded none. */
#define USER_DEFAULT_UID 1000
#define USER_DEFAULT_NAME "agent"

struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX]; /* the user's supplementary groups, without gid */
	size_t ngroups;
	char name[USER_NAME_MAX];
	char home[USER_PATH_MAX];
	char shell[USER_PATH_MAX];
};

/*
 * Finds a user. `spec` is "name", "uid", "name:group" or "uid:gid". NULL means the user that the
 * image has recorded in <etc>/microagent/user. If there is no such user, or if it is root, NULL
 * means the uid 1000. `etc` is "/etc" except in tests and in a reader. A numeric uid need not be in
 * passwd. For a uid that is not in passwd, the gid is the same number, the home directory is "/",
 * and the shell is "/bin/sh". Fails with ERR_NOT_FOUND for an unknown name.
 */
int user_resolve(const char *etc, const char *spec, struct user *out, struct error *err);

/* Changes this process permanently to the user's uid, gid and groups, and removes its capabilities.
 * The process must run as root. Returns 0, or -1 with errno set. */
int user_become(const struct user *user);

#endif
