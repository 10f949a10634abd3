/* SPDX-License-Identifier: MIT */
/*
 * Calls clone3(), which also gives a pidfd and, if there is a cgroup, starts the child in it. So no
 * process of a command is ever outside the command's cgroup. And no process must be moved, which
 * would take long in the kernel (an RCU grace period).
 */
#ifndef GUEST_CLONE_H
#define GUEST_CLONE_H

#include <stdint.h>
#include <sys/types.h>

/* Forks a child that shares nothing with this process. `namespaces` has the CLONE_NEW... flags of
 * the namespaces that the child gets anew. `cgroup_fd` is the cgroup in which the child starts; -1:
 * that of this process. Returns the child's pid, 0 in the child, or -errno. */
pid_t clone_fork(uint64_t namespaces, int cgroup_fd, int *pidfd);

/*
 * Starts a child that runs entry(data), which must not return, on the memory and stack of this
 * process. This process is stopped until the child has executed a program or ended. No page table
 * is copied, which saves a third of the time of a small command. Returns the child's pid, or
 * -errno; -ENOSYS: this processor is not supported.
 */
pid_t clone_vfork(int cgroup_fd, int *pidfd, void (*entry)(void *data), void *data);

#endif
