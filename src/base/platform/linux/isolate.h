/* SPDX-License-Identifier: MIT */
/*
 * The stages in which a small daemon of this project gives up the rights that it does not need,
 * after it has opened everything. A file of each daemon says which stages the daemon uses, in which
 * order, and why. microagent-init does not have this code.
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

/* Sets RLIMIT_CORE to 0, so that the kernel writes no core dumps. */
int isolate_core_dumps(struct error *err);

struct isolate_identity {
	bool set_uid, set_gid;
	uid_t uid;
	gid_t gid;
};
/* Read the value of an option that names the user or the group (base/command_line.h). */
int option_uid(void *field, const char *value, struct error *err);
int option_gid(void *field, const char *value, struct error *err);
/* Changes this process to the user and group of `who`, removes all supplementary groups, and
 * empties the bounding set of capabilities. */
int isolate_become(const struct isolate_identity *who, struct error *err);

/* Enters new mount, net, ipc and uts namespaces. If `with_user` is true, first enters a new user
 * namespace, in which this process keeps its user and no other user exists. Root does not need a
 * user namespace. Enters no pid namespace, because that would need a second process. */
int isolate_namespaces(bool with_user, struct error *err);
/* Enters only a new mount namespace. `with_user` is as for isolate_namespaces(). */
int isolate_mounts(bool with_user, struct error *err);
/*
 * Makes an empty read-only tmpfs the root. Before the tmpfs becomes read-only, `fill` (may be NULL)
 * can put files into it; the tmpfs is the working directory of `fill`. If `fill` or a later step
 * fails, the process gets its old root back. `name` is the name that mountinfo shows for the tmpfs.
 */
int isolate_root(const char *name, int (*fill)(void *data, struct error *err), void *data,
		 struct error *err);
/* Empties all capability sets, also the bounding set, and sets no_new_privs. */
int isolate_capabilities(struct error *err);

/* The setting by which this process gets a signal when its parent exits. The kernel clears this
 * setting when the user or group changes. So isolate_keep_parent() is called before such a change,
 * and isolate_restore_parent() after it. */
struct isolate_parent {
	int signal;
	pid_t parent;
};
void isolate_keep_parent(struct isolate_parent *kept);
int isolate_restore_parent(const struct isolate_parent *kept, struct error *err);

/* A directory that can still be opened by its path, with everything below it. */
struct isolate_tree {
	const char *path; /* the path of the directory; only isolate_trees() uses it */
	int fd;		  /* a descriptor of the directory; a descriptor with O_PATH is enough */
	bool writable;
	bool executable;
};
struct isolate_reach {
	const struct isolate_tree *trees;
	size_t tree_count;
};
/* Restricts this process by Landlock. From now on the process cannot open, make or change any file
 * or directory outside of `reach`, cannot bind or connect to a TCP port (from Linux 6.7 on), and
 * cannot inspect other processes. Open descriptors are not affected. Landlock does not restrict
 * readlink(), stat(), and Unix sockets with a path: the system call filter must restrict these.
 * Must be called after isolate_capabilities(). ERR_UNAVAILABLE if the kernel has no Landlock. */
int isolate_landlock(const struct isolate_reach *reach, struct error *err);
/*
 * Sets no_new_privs, and makes Landlock refuse to bind a TCP socket to a port and to connect it
 * (EACCES), for this process and all programs that it executes. So a program to which a TCP socket
 * is passed can use the socket, but cannot connect it to another address. Landlock does not
 * restrict connect() with AF_UNSPEC, listen() and MSG_FASTOPEN: system call filters must restrict
 * these. Before Linux 6.7, and if Landlock is disabled, only no_new_privs is set.
 * Async-signal-safe, except when it sets an error.
 */
int isolate_tcp(struct error *err);
/* Returns the version of the kernel's Landlock; -1 with ERR_UNAVAILABLE if the kernel has no
 * Landlock. */
int isolate_landlock_version(struct error *err);
/*
 * Gives this process a new root, which has only the trees of `reach`, at their paths. File systems
 * that are mounted below the trees are not in the root. Unlike a restriction by Landlock, this one
 * also holds for another program to which this process passes a descriptor of one of its
 * directories. Open descriptors of files are not affected. A descriptor of a directory is replaced,
 * because ".." of the directory would lead out of the new root. The new descriptor refers to the
 * same directory in the new root, or to the new root itself. No symbolic link is followed in a
 * tree, so that a file cannot be opened through /proc/self/fd with more rights than it was opened
 * with. Must be called before isolate_capabilities() and isolate_landlock(). ERR_UNAVAILABLE: the
 * root cannot be made, and nothing has changed.
 */
int isolate_trees(const struct isolate_reach *reach, struct error *err);
/* Tries in a child process if isolate_trees() would succeed. Returns 0 if it would, -1 with an
 * error otherwise. */
int isolate_trees_try(const struct isolate_reach *reach, struct error *err);

/* Returns the name of the method that keeps a process from the host's files: a separate root
 * directory ("root"), Landlock ("landlock"), both of them ("root-landlock"), or none ("open").
 * runtime.json and the answer of the command host contain this name. */
const char *isolate_files_name(bool root, bool landlock);

/* A system call that is allowed, with the reason why it is needed. */
struct isolate_syscall {
	int number;
	const char *reason;
	struct scmp_arg_cmp only[3]; /* the conditions on the arguments, all of which a call must
				      * meet; a condition with op 0 ends the list */
};
/* The condition on the arguments of mmap and mprotect that the memory is not executable. */
#define ISOLATE_NOT_EXECUTABLE                                                                 \
	{                                                                                      \
		{                                                                              \
			.arg = 2, .op = SCMP_CMP_MASKED_EQ, .datum_a = PROT_EXEC, .datum_b = 0 \
		}                                                                              \
	}
/*
 * Makes a row of the table of allowed system calls that allows one command of fcntl(). A row must
 * not allow fcntl() as a whole, because some commands are dangerous. With F_SETOWN, F_SETOWN_EX and
 * F_SETSIG a process chooses which signal the kernel sends to which process, and with O_ASYNC the
 * kernel sends this signal. A process of root needs no capability for this (sigio_perm() in
 * fs/fcntl.c of Linux). ioctl() has such commands too (FIOSETOWN, SIOCSPGRP, FIOASYNC), so each row
 * for ioctl() must allow only one command too.
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
/* Allows only these system calls. Any other call kills the process. The system call filter must be
 * the last stage, because the other stages make calls that are not allowed. Does nothing in a build
 * with a sanitizer, which makes other system calls. */
int isolate_syscalls(const struct isolate_syscall *allowed, size_t count, struct error *err);

#endif
