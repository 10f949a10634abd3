/* SPDX-License-Identifier: MIT */
/*
 * Calls clone3(), which also returns a pidfd and can start the child in a cgroup. So no process of
 * a command is ever outside the command's cgroup. Also, no process must be moved to a cgroup, which
 * takes long in the kernel (an RCU grace period).
 */
#ifndef GUEST_CLONE_H
#define GUEST_CLONE_H

#include <stdint.h>
#include <sys/types.h>

/* Forks a child, which has its own copy of this process's memory. `namespaces` has the CLONE_NEW...
 * flags of the namespaces that the child gets anew. `cgroup_fd` is the cgroup in which the child
 * starts. If it is -1, the child starts in the cgroup of this process. Returns the child's pid, 0
 * in the child, or -errno. */
pid_t clone_fork(uint64_t namespaces, int cgroup_fd, int *pidfd);

/*
 * Starts a child that runs entry(data) on the memory and stack of this process. `entry` must not
 * return. This process is stopped until the child has executed a program or has ended. No page
 * table is copied, which saves a third of the time of a small command. Returns the child's pid, or
 * -errno. -ENOSYS means that this processor is not supported.
 */
pid_t clone_vfork(int cgroup_fd, int *pidfd, void (*entry)(void *data), void *data);

#endif
