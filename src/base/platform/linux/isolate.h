/* SPDX-License-Identifier: MIT */
/*
 * The stages in which a small daemon of this project gives up the rights that it does not need,
 * after it has opened everything. Each stage is independent. The daemon's own isolate.c says which
 * stages it uses, in which order, and why. This is not part of the guest's binary.
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

/* Forbids core dumps (RLIMIT_CORE 0). */
int isolate_core_dumps(struct error *err);

struct isolate_identity {
	bool set_uid, set_gid;
	uid_t uid;
	gid_t gid;
};
/* Take the value of an option: the user, the group (base/command_line.h). */
int option_uid(void *field, const char *value, struct error *err);
int option_gid(void *field, const char *value, struct error *err);
/* Changes to that user and group, without further groups, and with an empty bounding set. */
int isolate_become(const struct isolate_identity *who, struct error *err);

/* Enters new mount, net, ipc and uts namespaces. with_user: inside of a new user namespace, in
 * which this process keeps its user and no other user exists; root does not need it. There is no
 * pid namespace, because it would need a second process. */
int isolate_namespaces(bool with_user, struct error *err);
/* Enters only a new mount namespace. */
int isolate_mounts(bool with_user, struct error *err);
/*
 * Makes an empty read-only tmpfs the root. fill (or NULL) may put something into it, working in the
 * present directory. If fill or a later step fails, the old root is there as before. name is the
 * name of the file system, which mountinfo shows.
 */
int isolate_root(const char *name, int (*fill)(void *data, struct error *err), void *data,
		 struct error *err);
/* Empties all capability sets, also the bounding set, and sets no_new_privs. */
int isolate_capabilities(struct error *err);

/* The signal that ends this process with its parent. Changes of identity clear it:
 * isolate_keep_parent() saves it before them, and isolate_restore_parent() restores it after
 * them. */
struct isolate_parent {
	int signal;
	pid_t parent;
};
void isolate_keep_parent(struct isolate_parent *kept);
int isolate_restore_parent(const struct isolate_parent *kept, struct error *err);

/* The directories that stay reachable by name. */
struct isolate_tree {
	const char *path; /* for isolate_trees() */
	int fd;		  /* a descriptor of a directory; O_PATH is enough */
	bool writable;
	bool executable;
};
struct isolate_reach {
	const struct isolate_tree *trees;
	size_t tree_count;
};
/* Uses Landlock: from now on no file or directory can be opened, made or changed outside of reach,
 * no TCP port bound or connected to (from Linux 6.7 on), and no other process inspected. What was
 * opened before stays as it is. Links and the facts of stat() are not covered, nor are sockets with
 * a name: the system call filter has to cover these. Must be called after isolate_capabilities().
 * ERR_UNAVAILABLE where the kernel has no Landlock. */
int isolate_landlock(const struct isolate_reach *reach, struct error *err);
/*
 * Sets no_new_privs, and makes Landlock refuse to bind a TCP port and to connect to one (EACCES),
 * for this process and all programs that it executes. A program that is given a TCP socket can use
 * it as it is, and cannot connect it to another place. connect() with AF_UNSPEC, listen() and
 * MSG_FASTOPEN are not covered: system call filters have to cover these. Before Linux 6.7, and
 * where Landlock is switched off, only no_new_privs is set. Async-signal-safe except for its error.
 */
int isolate_tcp(struct error *err);
/* Returns the version of the kernel's Landlock; -1 with ERR_UNAVAILABLE if there is none. */
int isolate_landlock_version(struct error *err);
/*
 * Restricts files in another way than Landlock, which also holds for a program to which this
 * process passes one of its directories: a root of its own that has only the trees, at their paths,
 * without the file systems that are mounted below them. Open descriptors stay as they are, except
 * directories, from which `..` would lead out: each becomes the same directory in the new root, or
 * the new root. No symbolic link is followed in a tree, so that /proc/self/fd gives no file more
 * rights than it was opened with. Must be called before isolate_capabilities() and
 * isolate_landlock(). ERR_UNAVAILABLE if the root cannot be made; nothing has changed then.
 */
int isolate_trees(const struct isolate_reach *reach, struct error *err);
/* Tries in a child whether isolate_trees() would succeed. */
int isolate_trees_try(const struct isolate_reach *reach, struct error *err);

/* Returns the name of what keeps a process from the host's files: a root of its own, Landlock, both
 * ("root-landlock"), or nothing ("open"). runtime.json and the answer of `host` have this name. */
const char *isolate_files_name(bool root, bool landlock);

/* A system call that stays allowed, with its reason. */
struct isolate_syscall {
	int number;
	const char *reason;
	struct scmp_arg_cmp only[3]; /* conditions on arguments; a condition with op 0 ends the
				      * list */
};
/* Conditions on the arguments of mmap and mprotect: the memory is not executable. */
#define ISOLATE_NOT_EXECUTABLE                                                                 \
	{                                                                                      \
		{                                                                              \
			.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0 \
		}                                                                              \
	}
/*
 * Rows for the fcntl() commands that a confined process may use. With F_SETOWN, F_SETOWN_EX and
 * F_SETSIG a process chooses which signal the kernel sends to which process, and with O_ASYNC it
 * makes the kernel send it. For root the kernel requires no capability for that (sigio_perm() in
 * fs/fcntl.c of Linux). ioctl() has the same commands, FIOSETOWN, SIOCSPGRP and FIOASYNC, so
 * ioctl() gets rows for single commands too.
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
/* Returns the number of conditions on arguments in the row. */
unsigned isolate_condition_count(const struct isolate_syscall *row);
/* The last stage: any other system call kills the process. Does nothing under a sanitizer, which
 * makes system calls of its own. */
int isolate_syscalls(const struct isolate_syscall *allowed, size_t count, struct error *err);

#endif
