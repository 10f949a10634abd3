/* SPDX-License-Identifier: MIT */
/*
 * Calls Landlock by its system calls: the C library has no functions for them, and the headers of
 * older distributions define only the first version of Landlock.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/platform/linux/isolate.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif

/* The flag with which landlock_create_ruleset() returns the version of Landlock. */
#define VERSION_PLEASE 1u
#define VERSION_WITH_NET 4

/* Landlock's rights to files, with the kernel's numbers. */
enum {
	FILE_EXECUTE = 1 << 0,
	FILE_WRITE = 1 << 1,
	FILE_READ = 1 << 2,
	DIR_READ = 1 << 3,
	DIR_REMOVE = 1 << 4,
	FILE_REMOVE = 1 << 5,
	MAKE_DIR = 1 << 7,
	MAKE_FILE = 1 << 8,
	MAKE_SOCKET = 1 << 9,
	TRUNCATE = 1 << 14, /* the right to shorten a file; Landlock has it since its version 3 */
};
#define TO_READ (FILE_READ | DIR_READ)
#define TO_WRITE                                                                                \
	(TO_READ | FILE_WRITE | DIR_REMOVE | FILE_REMOVE | MAKE_DIR | MAKE_FILE | MAKE_SOCKET | \
	 TRUNCATE)

enum { TCP_BIND = 1 << 0, TCP_CONNECT = 1 << 1 }; /* since VERSION_WITH_NET */
/* A scope of Landlock since its version 6. The scope of signals is not used: it would also block
 * the signal by which the kernel ends the children of this process. */
enum { SCOPE_ABSTRACT_SOCKETS = 1 << 0 };

enum { RULE_TREE = 1 };

struct ruleset {
	uint64_t files, net, scoped; /* the rights that are refused unless a rule allows them */
};

struct tree_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

static size_t ruleset_size(long version)
{
	return (version >= 6 ? 3 : version >= VERSION_WITH_NET ? 2 : 1) * sizeof(uint64_t);
}

static int enter_domain(int rules, struct error *err)
{
	if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return error_errno(err, errno, "Landlock");
	return 0;
}

int isolate_landlock_version(struct error *err)
{
	long version = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION_PLEASE);

	if (version >= 1)
		return (int)version;
	return error_set(err, ERR_UNAVAILABLE,
			 errno == EOPNOTSUPP ? "this kernel has Landlock switched off"
					     : "this kernel has no Landlock");
}

int isolate_landlock(const struct isolate_reach *reach, struct error *err)
{
	int version = isolate_landlock_version(err);
	/* All rights that both the kernel and this file know: the 13 rights of version 1, and those
	 * of later versions. */
	struct ruleset all = {.files = (1u << 13) - 1};

	if (version < 0)
		return -1;
	if (version >= 2)
		all.files |= 1u << 13; /* the right to link or rename a file to another directory */
	if (version >= 3)
		all.files |= TRUNCATE;
	if (version >= VERSION_WITH_NET)
		all.net = TCP_BIND | TCP_CONNECT;
	if (version >= 5)
		all.files |= 1u << 15; /* the right to use ioctl() on devices */
	if (version >= 6)
		all.scoped = SCOPE_ABSTRACT_SOCKETS;
	autoclose int rules =
		(int)syscall(SYS_landlock_create_ruleset, &all, ruleset_size(version), 0);
	if (rules < 0)
		return error_errno(err, errno, "Landlock");
	for (size_t i = 0; i < reach->tree_count; i++) {
		const struct isolate_tree *tree = &reach->trees[i];
		const uint64_t rights = (tree->writable ? TO_WRITE : TO_READ) |
					(tree->executable ? FILE_EXECUTE : 0);
		const struct tree_rule rule = {rights & all.files, tree->fd};

		if (syscall(SYS_landlock_add_rule, rules, RULE_TREE, &rule, 0) < 0)
			return error_errno(err, errno, "Landlock");
	}
	return enter_domain(rules, err);
}

/* Refuses only TCP. bwrap can still make its root, because a Landlock domain that refuses no rights
 * to files does not restrict mounts (security/landlock/fs.c of Linux, since 6.7). */
int isolate_tcp(struct error *err)
{
	const struct ruleset net = {.net = TCP_BIND | TCP_CONNECT};
	int version = isolate_landlock_version(NULL);

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, errno, "no_new_privs");
	if (version < VERSION_WITH_NET)
		return 0;
	autoclose int rules =
		(int)syscall(SYS_landlock_create_ruleset, &net, ruleset_size(VERSION_WITH_NET), 0);
	return rules < 0 ? error_errno(err, errno, "Landlock") : enter_domain(rules, err);
}
