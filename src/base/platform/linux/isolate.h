/* SPDX-License-Identifier: MIT */
/*
 * The stages in which a small daemon of ours gives up what it does not need, once it has opened
 * everything. Each stage stands for itself; the daemon's own isolate.c says which it takes, in
 * which order, and why. Not part of the guest's binary.
 */
#ifndef BASE_ISOLATE_H
#define BASE_ISOLATE_H

#include <fcntl.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/types.h>

#include "base/error.h"

/* RLIMIT_CORE 0. */
int isolate_core_dumps(struct error *err);

struct isolate_identity {
	bool set_uid, set_gid;
	uid_t uid;
	gid_t gid;
};
/* What rows of options take: its user, its group (base/command_line.h). */
int option_uid(void *field, const char *value, struct error *err);
int option_gid(void *field, const char *value, struct error *err);
/* Becomes that user and group, without further groups, and with an empty bounding set. */
int isolate_become(const struct isolate_identity *who, struct error *err);

/* mount, net, ipc and uts. with_user: in a user namespace of ours, where we are who we were and
 * nobody else exists; what root does without. No pid namespace: it would take a second process. */
int isolate_namespaces(bool with_user, struct error *err);
/* mount alone. */
int isolate_mounts(bool with_user, struct error *err);
/*
 * An empty read-only tmpfs becomes the root. fill (or NULL) may put something into it, working in
 * the present directory; when that or a later step fails the old root is there as it was. name: of
 * the file system, to be seen in mountinfo.
 */
int isolate_root(const char *name, int (*fill)(void *data, struct error *err), void *data,
		 struct error *err);
/* All sets empty, also the bounding set; no_new_privs. */
int isolate_capabilities(struct error *err);

/* The signal that ends us with our parent is cleared by changes of identity: it is kept here before
 * them, and restored behind. */
struct isolate_parent {
	int signal;
	pid_t parent;
};
void isolate_keep_parent(struct isolate_parent *kept);
int isolate_restore_parent(const struct isolate_parent *kept, struct error *err);

/* What stays reachable by name. */
struct isolate_tree {
	const char *path; /* for isolate_trees() */
	int fd;		  /* of a directory; O_PATH will do */
	bool writable;
	bool executable;
};
struct isolate_reach {
	const struct isolate_tree *trees;
	size_t tree_count;
};
/* No other file or directory can be opened, made or changed, no TCP port bound or connected to (from
 * Linux 6.7 on), and no process looked into but by what was opened before, which stays as it is. Links
 * and the facts of stat() are not covered, nor are sockets with a name: the system calls are to see to
 * these. After isolate_capabilities(). ERR_UNAVAILABLE where the kernel has no Landlock. */
int isolate_landlock(const struct isolate_reach *reach, struct error *err);
/*
 * Sets no_new_privs, and has Landlock refuse to bind a TCP port and to connect to one (EACCES), for
 * this process and all programs that it executes. A program that is given a TCP socket can use it
 * as it is, and connect it nowhere else. connect() with AF_UNSPEC, listen() and MSG_FASTOPEN are
 * not covered: system call filters are to see to these. Before Linux 6.7, and where Landlock is
 * switched off, only no_new_privs is set. Async-signal-safe but for its error.
 */
int isolate_tcp(struct error *err);
/* The version of the kernel's Landlock; -1 with the same error. */
int isolate_landlock_version(struct error *err);
/*
 * The same for files, and also for a program to which the process hands one of its directories: a
 * root of our own in which the trees are at their paths, without the file systems that are mounted
 * below them, and nothing else is. What was opened before stays as it is, but for directories, from
 * which `..` would lead out: each becomes the same one in the new root, or the new root. No symbolic
 * link is followed in a tree, so that no file gets open for more than it is by /proc/self/fd. Before
 * isolate_capabilities() and isolate_landlock(). ERR_UNAVAILABLE where it cannot be made, and nothing
 * has changed.
 */
int isolate_trees(const struct isolate_reach *reach, struct error *err);
/* Whether it can be made, in a child. */
int isolate_trees_try(const struct isolate_reach *reach, struct error *err);

/* The name of what keeps a process from the host's files: a root of its own, Landlock, both
 * ("root-landlock"), or nothing ("open"). As it is in runtime.json and in the answer of `host`. */
const char *isolate_files_name(bool root, bool landlock);

/* A system call that stays allowed, with its reason. */
struct isolate_syscall {
	int number;
	const char *reason;
	struct scmp_arg_cmp only[3]; /* conditions on arguments; up to the first of op 0 */
};
/* Memory is asked for that is not executable: of mmap and mprotect. */
#define ISOLATE_NOT_EXECUTABLE                                                                 \
	{                                                                                      \
		{                                                                              \
			.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0 \
		}                                                                              \
	}
/*
 * Rows for the fcntl() that a confined process may call. By F_SETOWN, F_SETOWN_EX and F_SETSIG a
 * process chooses which signal the kernel sends to which process, and by O_ASYNC that the kernel
 * sends it: for root the kernel asks for no capability then (sigio_perm() in fs/fcntl.c of Linux).
 * ioctl() has the same by FIOSETOWN, SIOCSPGRP and FIOASYNC, so ioctl() gets rows for single
 * commands too.
 */
#define ISOLATE_FCNTL_ROW(command, why)                                      \
	{                                                                    \
		.number = SCMP_SYS(fcntl), .reason = (why), .only = {        \
			{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = (command)}, \
		}                                                            \
	}
#define ISOLATE_FCNTL_FACTS                                                 \
	ISOLATE_FCNTL_ROW(F_DUPFD, "a descriptor at another number"),       \
		ISOLATE_FCNTL_ROW(F_DUPFD_CLOEXEC, "the same"),             \
		ISOLATE_FCNTL_ROW(F_GETFD, "whether it is closed on exec"), \
		ISOLATE_FCNTL_ROW(F_SETFD, "close-on-exec"),                \
		ISOLATE_FCNTL_ROW(F_GETFL, "whether a descriptor can be written")
#define ISOLATE_FCNTL                                                             \
	ISOLATE_FCNTL_FACTS,                                                      \
	{                                                                         \
		.number = SCMP_SYS(fcntl), .reason = "blocking or not", .only = { \
			{.arg = 1, .op = SCMP_CMP_EQ, .datum_a = F_SETFL},        \
			{.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = O_ASYNC}, \
		}                                                                 \
	}
/* How many conditions on arguments the row has. */
unsigned isolate_condition_count(const struct isolate_syscall *row);
/* The last stage: any other system call kills the process. Under a sanitizer it does nothing, whose
 * own calls are no business of ours. */
int isolate_syscalls(const struct isolate_syscall *allowed, size_t count, struct error *err);

#endif
