/* SPDX-License-Identifier: MIT */
/*
 * clone3() with a pidfd and, if there is one, straight into a cgroup: no process of a command is
 * ever outside its own, and nothing is moved, which would cost a grace period of the kernel's.
 */
#ifndef GUEST_CLONE_H
#define GUEST_CLONE_H

#include <stdint.h>
#include <sys/types.h>

/* A child that shares nothing; namespaces are those (CLONE_NEW...) that it has of its own. 0 in the
 * child; -errno. */
pid_t clone_fork(uint64_t namespaces, int cgroup_fd, int *pidfd);

/*
 * A child that runs entry(data), which must not return, on our memory and stack while we stand
 * still until it has executed a program or ended: no page table is copied, which is a third of the
 * cost of a small command. -errno, and -ENOSYS where this is not written for the processor.
 */
pid_t clone_vfork(int cgroup_fd, int *pidfd, void (*entry)(void *data), void *data);

#endif
