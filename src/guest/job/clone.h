/* SPDX-License-Identifier: MIT */
/*
 * Calls clone3() with a pidfd and, if there is one, directly into a cgroup. So no process of a
 * command is ever outside its cgroup. Nothing has to be moved, which would cost a grace period of
 * the kernel.
 */
#ifndef GUEST_CLONE_H
#define GUEST_CLONE_H

#include <stdint.h>
#include <sys/types.h>

/* Forks a child that shares nothing. namespaces are those (CLONE_NEW...) that the child gets of its
 * own. Returns the child's pid; 0 in the child; -errno on failure. */
pid_t clone_fork(uint64_t namespaces, int cgroup_fd, int *pidfd);

/*
 * Starts a child that runs entry(data), which must not return, on the parent's memory and stack.
 * The parent stands still until the child has executed a program or ended. No page table is copied,
 * which is a third of the cost of a small command. Returns -errno on failure; -ENOSYS if this
 * processor is not supported.
 */
pid_t clone_vfork(int cgroup_fd, int *pidfd, void (*entry)(void *data), void *data);

#endif
