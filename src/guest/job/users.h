/* SPDX-License-Identifier: MIT */
/*
 * Who a command runs as. /etc/passwd and /etc/group are read by these few lines: a static program
 * has no NSS, and what the image's own NSS would say is not ours to run as root.
 */
#ifndef GUEST_USERS_H
#define GUEST_USERS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

#define USER_GROUPS_MAX 128
#define USER_NAME_MAX 256
#define USER_PATH_MAX 1024

/* The user of a command for which none is named and none is recorded in the image. */
#define USER_DEFAULT_UID 1000
#define USER_DEFAULT_NAME "agent"

struct user {
	uid_t uid;
	gid_t gid;
	gid_t groups[USER_GROUPS_MAX]; /* supplementary, gid not among them */
	size_t ngroups;
	char name[USER_NAME_MAX];
	char home[USER_PATH_MAX];
	char shell[USER_PATH_MAX];
};

/*
 * spec: "name", "uid", "name:group" or "uid:gid"; NULL: the one recorded in <etc>/microagent/user
 * if that is not root, else uid 1000. etc is "/etc" but for tests. A numeric uid need not be in
 * passwd: then gid is the uid's, home "/", shell "/bin/sh". ERR_NOT_FOUND for an unknown name.
 */
int user_resolve(const char *etc, const char *spec, struct user *out, struct error *err);

/* Gives this process, which is root's, the ids and groups of that user for good, and with them no
 * capability. -1 and errno. */
int user_become(const struct user *user);

#endif
