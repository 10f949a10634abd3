/* SPDX-License-Identifier: MIT */
/*
 * Finds children and sockets that a VMM should not have, by looking into /proc. A VMM in its cell
 * starts no process and makes no connection. So a new child or socket of the VMM shows that an
 * attacker controls the VMM. The VMM is trusted until its guest is ready. The children and sockets
 * that it has at that time are remembered as expected.
 */
#ifndef SUPERVISOR_WATCH_VMM_H
#define SUPERVISOR_WATCH_VMM_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/broker.h"
#include "base/error.h"
#include "base/proc.h"

#define WATCH_VMM_SOCKETS 256
#define WATCH_VMM_CHILDREN 32

struct watch_vmm {
	/* The VMM. The caller closes its pidfd. The pidfd is -1 if the broker does the work. */
	struct proc vmm;
	/* The VMM has its own vsock device. Such a VMM makes a new socket for each connection to
	 * the guest, so only its children are watched. */
	bool own_sockets;
	unsigned long long sockets[WATCH_VMM_SOCKETS]; /* the inodes of known sockets */
	size_t socket_count;
	pid_t children[WATCH_VMM_CHILDREN]; /* the known children */
	size_t child_count;
	unsigned allowed; /* the number of new sockets that are still expected */
};

/* The broker's duty for a watch. If there is a broker, it does the work of the two functions below,
 * since a process needs a special right to see the children and sockets of the VMM. The duty's data
 * is a struct watch_vmm of the VMM. */
extern const struct broker_duty watch_vmm_duty;
/* Records the present children and sockets of the VMM as expected. */
int watch_vmm_expect(struct watch_vmm *watch, const struct proc *vmm, struct error *err);
/* Returns an array of the new children and sockets of the VMM. An entry is
 * {"what":"child","pid","exe"?} or {"what":"socket","inode"}. Each child and each socket is
 * returned only once. The array is empty if there is nothing new. The caller releases the array.
 * Returns NULL with an error if the VMM cannot be looked at. */
json_t *watch_vmm_look(struct watch_vmm *watch, struct error *err);

#endif
